// Verifies the passes on standard input with jose. Prints whether each is valid.
import { createLocalJWKSet, jwtVerify } from "jose";

let text = "";
for await (const part of process.stdin) text += part;
const { room, name, jwks, passes } = JSON.parse(text);
const keys = createLocalJWKSet(jwks);
const asked = {
  algorithms: ["RS256"],
  issuer: room,
  audience: name,
  clockTolerance: 30,
  requiredClaims: ["exp", "nbf", "sub"],
};
const isValid = (pass) => jwtVerify(pass, keys, asked).then(({ payload }) => payload.token_use === "access", () => false);
console.log(JSON.stringify(await Promise.all(passes.map(isValid))));
