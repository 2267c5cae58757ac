// Changes by operators.  Each asks for confirmation first, and names the effects.

import { patch, portText, post, put, remove } from "./api.js";
import { confirm } from "./confirm.js";
import { html } from "./lit.js";
import { portSettings, whatIf } from "./whatif.js";
import { plural, vlanText } from "./words.js";

const addresses = (number) => plural(number, "learned address", "learned addresses");
const UNTIL = "It holds until the configuration file changes the same value, or what was set at run time is taken back; a restart changes nothing.";

// about: {id, bridge, port, ports, stp, far: the port's other end, after}
export async function portDown({ id, bridge, port, ports, stp, far, after }) {
  const says = [`${port.name} of ${bridge.name} takes no frames and sends none from then on, BPDUs included.`];
  if (far) says.push(`It leads to ${far}: that link is gone for the network.`);
  if (stp?.role === "root") says.push("It is the root port: spanning tree looks for another path to the root. Without one, this switch is cut off from it.");
  if (port.learned) says.push(`The hosts of ${addresses(port.learned)} are not reached any more.`);
  if (bridge.peer && port.local) says.push("It is the switch's own port: its host may lose its connection to this controller.");
  says.push(UNTIL);
  const done = await confirm({
    title: `Take ${port.name} of ${bridge.name} down?`,
    says,
    verb: "Take down",
    check: whatIf(["it is taken down", portSettings(id, port.name, { shutdown: true })]),
    act: async () => {
      await patch(["bridges", id, "ports", portText(port, ports)], { shutdown: true });
      return `${port.name} of ${bridge.name} is down.`;
    },
  });
  if (done) await after();
}

export async function portUp({ id, bridge, port, ports, after }) {
  const done = await confirm({
    title: `Bring ${port.name} of ${bridge.name} up?`,
    says: [
      "It is enabled again: it forwards as soon as spanning tree knows what is behind it, within three seconds as a rule.",
      UNTIL,
    ],
    verb: "Bring up",
    check: whatIf(["it comes up", portSettings(id, port.name, { shutdown: false })]),
    act: async () => {
      await patch(["bridges", id, "ports", portText(port, ports)], { shutdown: false });
      return `${port.name} of ${bridge.name} is up again.`;
    },
  });
  if (done) await after();
}

// filter: {port, vlan, mac}, as in the API.
export async function flush({ id, bridge, port, ports, filter, after }) {
  const asked = filter ?? { port: portText(port, ports) };
  const where = port ? `${port.name} of ${bridge.name}` : bridge.name;
  const some = [asked.vlan !== undefined && vlanText(Number(asked.vlan)), asked.mac, asked.port && !port && `port ${asked.port}`].filter(Boolean);
  const number = port ? addresses(port.learned) : some.length ? "The learned addresses that fit" : addresses(bridge.fdb.learned);
  const done = await confirm({
    title: `Forget the learned addresses of ${where}${some.length ? ` (${some.join(", ")})` : ""}?`,
    says: [
      `${number} ${port?.learned === 1 || (!port && !some.length && bridge.fdb.learned === 1) ? "is" : "are"} forgotten. Frames to them are flooded until each has sent a frame again.`,
      "Static entries stay. Addresses that are held down there may move again.",
    ],
    verb: "Flush",
    act: async () => {
      const { flushed } = await remove(["bridges", id, "fdb"], asked);
      return `${plural(flushed, "address", "addresses")} forgotten on ${bridge.name}.`;
    },
  });
  if (done) await after();
}

export async function release({ id, bridge, held, after }) {
  const done = await confirm({
    title: `Let ${held.mac} go?`,
    says: [
      `It is held down on ${held.port.name} (${vlanText(held.vlan)}), because ${held.reason === "moves" ? "it moved too often" : "that port is sticky"}, and was seen on ${held.elsewhere.name} ${plural(held.sightings, "time")} since.`,
      "It may move again, from the next frame on. If it still flaps it is held again.",
    ],
    verb: "Release",
    act: async () => {
      await remove(["bridges", id, "fdb", "held", held.vlan, held.mac]);
      return `${held.mac} may move again on ${bridge.name}.`;
    },
  });
  if (done) await after();
}

export async function addStatic({ id, bridge, ports, after }) {
  const done = await confirm({
    title: `Fix an address to a port of ${bridge.name}`,
    fields: html`<p class="fields">
        <label>MAC address <input name="mac" required pattern="([0-9a-fA-F]{1,2}[:\\-]){5}[0-9a-fA-F]{1,2}"
          placeholder="52:54:00:12:34:56" spellcheck="false" autocomplete="off"></label>
        <label>VLAN (0 is untagged) <input name="vlan" type="number" min="0" max="4094" value="0" required></label>
        <label>Port <select name="port">${ports.map((port) => html`<option value=${portText(port, ports)}>${port.name}</option>`)}</select></label>
      </p>`,
    says: [
      "Frames to the address leave by that port only, whether the host is there or not; it does not age, and does not move.",
      "The entry is kept on disk: it is there after a restart, until it is removed.",
    ],
    verb: "Add",
    act: async (given) => {
      const path = ["bridges", id, "fdb", given.get("vlan"), given.get("mac").trim()];
      const entry = await put(path, { port: given.get("port") });
      return `${entry.mac} is fixed to ${entry.port.name} of ${bridge.name}.`;
    },
  });
  if (done) await after();
}

export async function removeStatic({ id, bridge, entry, after }) {
  const done = await confirm({
    title: `Remove the static entry of ${entry.mac}?`,
    says: [
      `It points to ${entry.port.name} of ${bridge.name}, ${vlanText(entry.vlan)}.`,
      "Frames to it are flooded until it has sent a frame and is learned.",
    ],
    verb: "Remove",
    act: async () => {
      await remove(["bridges", id, "fdb", entry.vlan, entry.mac]);
      return `${entry.mac} is no static entry of ${bridge.name} any more.`;
    },
  });
  if (done) await after();
}

export async function recover({ id, bridge, port, ports, stp, after }) {
  const says = {
    "bpdu-guard": "BPDU guard closed it, because a BPDU came in where only hosts should be. If another bridge is still there, it closes again with the next BPDU.",
    "root-guard": "Root guard keeps it from becoming the path to a better root. It stays closed as long as superior BPDUs arrive.",
    "loop-guard": "Loop guard closed it, because BPDUs stopped to come. If the other side forwards without sending any, a loop is possible.",
    "self-loop": "It received its own BPDUs: the cable, or what is behind it, leads back to the same port. If it still does, it closes again.",
  };
  const done = await confirm({
    title: `Free ${port.name} of ${bridge.name}?`,
    says: [...stp.guards.map((guard) => says[guard] ?? guard), "The port starts again: it discards until spanning tree knows what is behind it."],
    verb: "Free the port",
    act: async () => {
      await post(["bridges", id, "stp", "ports", portText(port, ports), "recover"]);
      return `${port.name} of ${bridge.name} was freed.`;
    },
  });
  if (done) await after();
}

export async function forgetAbsent(number, after) {
  const done = await confirm({
    title: `Remove ${number === 1 ? "the disconnected switch" : `all ${number} disconnected switches`}?`,
    says: [
      "What was set of them at run time is lost: static and permanent entries, and parameters that are not in the file.",
      "A switch that comes back is treated as new. One that still forwards keeps its last flows.",
    ],
    verb: "Remove",
    act: async () => {
      const { forgotten } = await remove(["bridges"], { absent: "true" });
      return `${plural(forgotten.length, "switch", "switches")} removed.`;
    },
  });
  if (done) await after();
}

// about: {id, bridge, host, after}, as all of the following
export async function authenticate({ id, bridge, host, after }) {
  const done = await confirm({
    title: `Authenticate ${host.user || host.mac} again?`,
    says: [`The host on ${host.port} of ${bridge.name} is asked again at once, and keeps its rights until the RADIUS server has answered.`],
    verb: "Authenticate again",
    act: async () => {
      await post(["bridges", id, "port-access", "reauthenticate"], {}, { port: host.port, mac: host.mac });
      return `${host.user || host.mac} is authenticated again on ${bridge.name}.`;
    },
  });
  if (done) await after();
}

export async function forgetHost({ id, bridge, host, after }) {
  const done = await confirm({
    title: `Clear ${host.user || host.mac}?`,
    says: [
      host.authorised
        ? `The session of the host on ${host.port} of ${bridge.name} ends: its frames are dropped until it is authorised again.`
        : `The host on ${host.port} of ${bridge.name} may try again at once.`,
    ],
    verb: "Clear",
    act: async () => {
      await post(["bridges", id, "port-access", "clear"], {}, { port: host.port, mac: host.mac });
      return `${host.user || host.mac} was cleared on ${bridge.name}.`;
    },
  });
  if (done) await after();
}

export function openPort(context) {
  return open(
    context,
    "loop-protect",
    "Loop protection holds it, because its frames came back. If the loop is still there, broadcasts circle until the next frame comes back: the port is then held for longer.",
  );
}

export function openLink(context) {
  return open(
    context,
    "lldp",
    "It is closed because its link passes frames in one direction alone. If that is still so, the port closes again within seconds.",
  );
}

async function open({ id, bridge, port, after }, protocol, why) {
  const done = await confirm({
    title: `Open ${port.name} of ${bridge.name}?`,
    says: [why],
    verb: "Open the port",
    act: async () => {
      await post(["bridges", id, protocol, "ports", String(port.number), "free"]);
      return `${port.name} of ${bridge.name} is open.`;
    },
  });
  if (done) await after();
}
