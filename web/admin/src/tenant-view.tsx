// One tenant: what it is allowed, its rooms, its keys and its trail; and its end.
import { useEffect } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused, tenantPath } from "./api";
import { ApiKeysCard } from "./api-keys";
import { Audit } from "./audit";
import { confirmed } from "./confirm";
import { Unread, useReading } from "./reading";
import { SiteKeysCard } from "./site-keys";
import { TenantForm } from "./tenant-form";
import { count, say } from "./text";
import type { Tenant } from "./wire";

function Rooms({ tenant }: { tenant: Tenant }) {
  const { rooms, rooms_max } = tenant;
  return (
    <section class="card" aria-labelledby="tenant-rooms-title">
      <h2 id="tenant-rooms-title">{say("rooms")}</h2>
      <p class="soft small-text">{say("tenant.rooms", { n: count(rooms.length), max: count(rooms_max) })}</p>
      {rooms.length > 0 && <ul class="row">{rooms.map((room) => <li key={room}><a href={`#/rooms/${room}`}>{room}</a></li>)}</ul>}
    </section>
  );
}

function End({ tenant }: { tenant: Tenant }) {
  const { busy, run } = useAction();
  const { tenant: id, name } = tenant;
  const end = async () => {
    const asked = { about: `${name} (${id})`, title: say("confirm.delete_tenant"), text: say("confirm.delete_tenant_text"), yes: say("tenant.delete") };
    if (!(await confirmed(asked))) return;
    const told = () => say("done.tenant_deleted", { name });
    if (await run(say("tenant.end"), () => call("DELETE", tenantPath(id)), told)) location.hash = "#/tenants";
  };
  return (
    <section class="card" aria-labelledby="tenant-end-title">
      <h2 id="tenant-end-title">{say("tenant.end")}</h2>
      <p class="soft small-text">{say("tenant.end_text")}</p>
      <p class="row"><button type="button" class="danger" disabled={busy} onClick={end}>{say("tenant.delete_ask")}</button></p>
    </section>
  );
}

export function TenantView({ id }: { id: string }) {
  const reading = useReading<Tenant>(tenantPath(id));
  const { value: tenant, error } = reading;
  const missing = error instanceof Refused && error.status === 404;
  const title = missing ? say("tenant.missing") : (tenant?.name ?? id);
  useEffect(() => {
    document.title = `${title} · ${say("brand")}`;
  });
  return (
    <>
      <div class="room-head">
        <a href="#/tenants" class="back">{`← ${say("tenants")}`}</a>
        <h1 tabIndex={-1}>{title}</h1>
        <p class="soft small-text">{missing ? say("tenant.missing_text", { tenant: id }) : id}</p>
      </div>
      {!missing && <Unread reading={reading} />}
      {!missing && tenant && (
        <div class="room">
          <div class="watch">
            <ApiKeysCard tenant={id} />
            <SiteKeysCard tenant={id} />
            <Rooms tenant={tenant} />
          </div>
          <div class="steer" role="group" aria-label={say("controls")}>
            <TenantForm tenant={tenant} settle={reading.settle} />
            <End tenant={tenant} />
          </div>
          <div class="trail"><Audit target={`tenant:${id}`} /></div>
        </div>
      )}
    </>
  );
}
