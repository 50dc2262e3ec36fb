// A shop on Express, for the tests of the connector.
import express from "express";
import { waitingRoom } from "./express.mjs";

const { ROOM: room, NAME: name, SECRET: secret, KEYS, PORT } = process.env;
const app = express();
app.use(waitingRoom({ room, name, secret, keys: KEYS ? JSON.parse(KEYS) : undefined }));
app.use((request, response) => {
  const { subject, number } = request.visitor;
  // They have paid.
  if (request.path === "/thanks") response.set("Beekeeper-Session", "End").append("Set-Cookie", "basket=");
  response.json({ subject, number: number ?? null });
});
app.listen(Number(PORT), "127.0.0.1");
