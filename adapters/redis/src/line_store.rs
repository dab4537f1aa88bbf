//! The port's operations on Redis, each one call of the script of the same name. What an operation needs beside that is
//! `store`'s.

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Dump, EndOutcome,
    ExtendOutcome, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss, PassOutcome,
    ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome, RevokeOutcome,
    SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_ports::{BoxFuture, EventFeed, LineStore, Reply, StoreError};
use jari_units::limits::ADMIT_MAX;
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};

use crate::RedisStore;
use crate::arguments::{passes, subjects};
use crate::error::Failure;
use crate::event_text::{change_words, ticket_words};
use crate::feed::decimal;
use crate::state::Extent;
use crate::{flow_text, keys, outcomes, recovery_text};

type Answered<'a, T> = BoxFuture<'a, Result<Reply<T>, StoreError>>;

impl LineStore for RedisStore {
    fn create(&self, room: &RoomId, settings: Settings) -> Answered<'_, bool> {
        let room = room.clone();
        Box::pin(async move { self.create(&room, settings).await })
    }

    fn delete(&self, room: &RoomId, until: Incarnation) -> BoxFuture<'_, Result<bool, StoreError>> {
        let room = room.clone();
        Box::pin(async move { self.delete(&room, until).await })
    }

    fn join(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<JoinOutcome>> {
        let room = room.clone();
        Box::pin(async move {
            self.on_each("join", &room, mark, &people, subjects, outcomes::join).await
        })
    }

    fn leave(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<LeaveOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::leave(answer);
        Box::pin(
            async move { self.on_each("leave", &room, mark, &people, subjects, outcome).await },
        )
    }

    fn seen(&self, room: &RoomId, mark: Mark, bits: SeenBits) -> Answered<'_, ()> {
        let room = room.clone();
        let own = vec![decimal(bits.first()), bits.bytes().to_vec()];
        Box::pin(async move { self.on("seen", &room, mark, own, |_, _| Ok(())).await })
    }

    fn admit(&self, room: &RoomId, mark: Mark) -> Answered<'_, AdmitOutcome> {
        let room = room.clone();
        Box::pin(async move { self.admit(&room, mark).await })
    }

    fn admit_now(
        &self,
        room: &RoomId,
        mark: Mark,
        whom: AdmitNow,
    ) -> Answered<'_, AdmitNowOutcome> {
        let room = room.clone();
        let own = match whom {
            // More at once would block the store for too long.
            AdmitNow::Count(count) => vec![b"count".to_vec(), decimal(count.min(ADMIT_MAX))],
            AdmitNow::Subjects(people) => {
                [b"subjects".to_vec()].into_iter().chain(subjects(&people)).collect()
            }
        };
        Box::pin(async move { self.on("admit_now", &room, mark, own, outcomes::admit_now).await })
    }

    fn claim(&self, room: &RoomId, mark: Mark, ids: Vec<PassId>) -> Answered<'_, Vec<PassOutcome>> {
        let room = room.clone();
        Box::pin(
            async move { self.on_each("claim", &room, mark, &ids, passes, outcomes::passes).await },
        )
    }

    fn touch(&self, room: &RoomId, mark: Mark, ids: Vec<PassId>) -> Answered<'_, Vec<PassOutcome>> {
        let room = room.clone();
        Box::pin(
            async move { self.on_each("touch", &room, mark, &ids, passes, outcomes::passes).await },
        )
    }

    fn extend_for_payment(
        &self,
        room: &RoomId,
        mark: Mark,
        pass: PassId,
        span: Millis,
    ) -> Answered<'_, ExtendOutcome> {
        let room = room.clone();
        let mut own = passes(&[pass]);
        own.push(decimal(span.0));
        Box::pin(
            async move { self.on("extend_for_payment", &room, mark, own, outcomes::extend).await },
        )
    }

    fn redeem(&self, room: &RoomId, mark: Mark, ticket: Ticket) -> Answered<'_, RedeemOutcome> {
        let room = room.clone();
        let own = ticket_words(&ticket);
        Box::pin(async move { self.on("redeem", &room, mark, own, outcomes::redeem).await })
    }

    fn end_pass(
        &self,
        room: &RoomId,
        mark: Mark,
        ids: Vec<PassId>,
    ) -> Answered<'_, Vec<EndOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::end_pass(answer);
        Box::pin(async move { self.on_each("end_pass", &room, mark, &ids, passes, outcome).await })
    }

    fn revoke(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<RevokeOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::revoke(answer);
        Box::pin(
            async move { self.on_each("revoke", &room, mark, &people, subjects, outcome).await },
        )
    }

    fn change(&self, room: &RoomId, mark: Mark, change: Change) -> Answered<'_, ChangeOutcome> {
        let room = room.clone();
        let (kind, a, b) = change_words(&change);
        let own = vec![kind.as_bytes().to_vec(), a, b];
        let outcome = |answer, _| outcomes::change(answer);
        Box::pin(async move { self.on("change", &room, mark, own, outcome).await })
    }

    fn set_group(
        &self,
        group: &GroupId,
        settings: GroupSettings,
        rooms: Vec<RoomId>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let group = group.clone();
        Box::pin(async move { self.groups.set(&group, settings, rooms).await })
    }

    fn read(&self, room: &RoomId) -> Answered<'_, Ledger> {
        let room = room.clone();
        Box::pin(async move {
            let dump = self.rooms.state(&room, Extent::Ledger).await?;
            let mark = dump.mark;
            Ok(Reply { outcome: Ledger::from_dump(dump), mark })
        })
    }

    fn subscribe(
        &self,
        room: &RoomId,
        after: EventNo,
    ) -> BoxFuture<'_, Result<Box<dyn EventFeed>, StoreError>> {
        let room = room.clone();
        Box::pin(async move { self.subscribe(&room, after).await })
    }

    fn recover(
        &self,
        room: &RoomId,
        settings: Settings,
        loss: Loss,
        node: NodeId,
    ) -> Answered<'_, RecoverOutcome> {
        let room = room.clone();
        Box::pin(async move { self.recover(&room, &settings, &loss, node).await })
    }

    fn restore(
        &self,
        room: &RoomId,
        mark: Mark,
        node: NodeId,
        telling: Telling,
    ) -> Answered<'_, RestoreOutcome> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::restore(answer);
        Box::pin(async move {
            let own = recovery_text::telling(node, &telling);
            let own = own.ok_or_else(|| Failure::odd_answer("a replica that cannot be told of"))?;
            self.on("restore", &room, mark, own, outcome).await
        })
    }

    fn reattach(
        &self,
        room: &RoomId,
        mark: Mark,
        receipts: Vec<Receipt>,
    ) -> Answered<'_, Vec<ReattachOutcome>> {
        let room = room.clone();
        let own = recovery_text::receipts;
        Box::pin(async move {
            self.on_each("reattach", &room, mark, &receipts, own, outcomes::reattach).await
        })
    }

    fn attend(&self, room: &RoomId, mark: Mark, node: NodeId) -> Answered<'_, ()> {
        let room = room.clone();
        let own = vec![decimal(node)];
        Box::pin(async move { self.on("attend", &room, mark, own, |_, _| Ok(())).await })
    }

    fn signal(
        &self,
        room: &RoomId,
        mark: Mark,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Answered<'_, SignalOutcome> {
        let room = room.clone();
        let own = [source, flow_text::load_number(load), span.0].map(decimal).to_vec();
        let outcome = |answer, _| outcomes::signal(answer);
        Box::pin(async move { self.on("signal", &room, mark, own, outcome).await })
    }

    fn due(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.due())
    }

    fn dump(&self, room: &RoomId) -> Answered<'_, Dump> {
        let room = room.clone();
        Box::pin(async move {
            let dump = self.rooms.state(&room, Extent::Everything).await?;
            Ok(Reply { mark: dump.mark, outcome: dump })
        })
    }

    fn served(&self, room: &RoomId) -> BoxFuture<'_, Result<Option<Millis>, StoreError>> {
        let room = room.clone();
        Box::pin(async move { self.served(&room).await })
    }

    fn probe(&self) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(self.probe())
    }

    fn place(&self) -> Option<String> {
        Some(self.rooms.link.address().place(&self.rooms.prefix))
    }

    fn identity(&self, wanted: String) -> BoxFuture<'_, Result<String, StoreError>> {
        Box::pin(self.identity(wanted))
    }

    fn is_divided(&self) -> bool {
        self.rooms.link.address().is_cluster()
    }

    fn reach(&self, room: &RoomId) -> BoxFuture<'_, Result<(), StoreError>> {
        let key = keys::reach(&self.rooms.prefix, room);
        Box::pin(async move { self.write_probe(key).await })
    }

    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.rooms())
    }
}
