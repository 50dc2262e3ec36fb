// A shop on Express, for the tests of the connector.
import express from "express";
import { waitingRoom } from "./express.mjs";

const { ROOM: room, NAME: name, SECRET: secret, KEYS, PORT } = process.env;
const app = express();
const bypass = (request) => request.path === "/notify";
app.use(waitingRoom({ room, name, secret, keys: KEYS ? JSON.parse(KEYS) : undefined, bypass }));
app.use((request, response) => {
  const { subject, number } = request.visitor ?? {};
  // They have paid.
  if (["/thanks", "/notify"].includes(request.path)) response.set("Beekeeper-Session", "End").append("Set-Cookie", "basket=");
  response.json({ subject, number: number ?? null });
});
app.listen(Number(PORT), "127.0.0.1");
