// Verifies the passes on standard input with WebCrypto, as the shop's page does. Prints whether each is valid.
import { keysById, verifyPass } from "../../../../docs/connectors/beekeeper_pass.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const { room, name, keys, passes } = JSON.parse(text);
const known = keysById(keys);
const isValid = ({ pass }) => verifyPass(pass, async (kid) => known.get(kid), { room, name }).then(Boolean, () => false);
console.log(JSON.stringify(await Promise.all(passes.map(isValid))));
