// Verifies the passes on standard input with WebCrypto, as the shop's page does. Prints whether each is valid.
import { verifyPass } from "../../../../docs/connectors/browser.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const { room, name, keys, passes } = JSON.parse(text);
const isValid = async ({ pass }) => Boolean(await verifyPass(pass, keys, { room, name }));
console.log(JSON.stringify(await Promise.all(passes.map(isValid))));
