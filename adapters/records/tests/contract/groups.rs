//! Limit groups: as rooms, and never deleted under a room.

use std::sync::Arc;

use jari_line::GroupSettings;
use jari_ports::{Control, ControlError, LimitGroup};

use super::{note, room};

fn group(id: &str, version: u64, capacity: u64) -> LimitGroup {
    let settings = GroupSettings { capacity, rate_milli: 50_500, burst: 9 };
    LimitGroup { id: id.parse().unwrap(), settings, version }
}

pub(crate) async fn groups_are_written_by_version_and_listed_by_id(control: Arc<dyn Control>) {
    let conflict = Err(ControlError::Conflict("limit group b".to_owned()));
    assert_eq!(control.put_group(group("b", 0, 1), note()).await, Ok(1));
    assert_eq!(control.put_group(group("a", 0, 2), note()).await, Ok(1));
    assert_eq!(control.put_group(group("b", 0, 3), note()).await, conflict);
    assert_eq!(control.put_group(group("b", 1, 4), note()).await, Ok(2));
    assert_eq!(control.put_group(group("b", 1, 5), note()).await, conflict);
    assert_eq!(control.groups().await.unwrap(), [group("a", 1, 2), group("b", 2, 4)]);
}

pub(crate) async fn a_deleted_group_is_gone(control: Arc<dyn Control>) {
    let gone = ControlError::NotFound("limit group a".to_owned());
    let id = group("a", 0, 1).id;
    assert_eq!(control.delete_group(&id, note()).await, Err(gone.clone()));
    control.put_group(group("a", 0, 1), note()).await.unwrap();
    assert_eq!(control.delete_group(&id, note()).await, Ok(()));
    assert_eq!(control.groups().await.unwrap(), []);
    assert_eq!(control.put_group(group("a", 1, 1), note()).await, Err(gone));
}

pub(crate) async fn a_room_names_only_a_group_that_exists(control: Arc<dyn Control>) {
    let mut member = room("shop");
    member.group = Some("all".parse().unwrap());
    let missing = Err(ControlError::NotFound("limit group all".to_owned()));
    assert_eq!(control.put_room(member.clone(), note()).await, missing);
    assert_eq!(control.rooms().await.unwrap(), []);
    control.put_room(room("shop"), note()).await.unwrap();
    member.version = 1;
    assert_eq!(control.put_room(member.clone(), note()).await, missing);
    control.put_group(group("all", 0, 1), note()).await.unwrap();
    assert_eq!(control.put_room(member.clone(), note()).await, Ok(2));
    assert_eq!(control.rooms().await.unwrap()[0].group, member.group);
}

pub(crate) async fn a_group_with_rooms_is_not_deleted(control: Arc<dyn Control>) {
    let all = group("all", 0, 1);
    control.put_group(all.clone(), note()).await.unwrap();
    let mut member = room("shop");
    member.group = Some(all.id.clone());
    control.put_room(member.clone(), note()).await.unwrap();
    let in_use = Err(ControlError::InUse("limit group all".to_owned()));
    assert_eq!(control.delete_group(&all.id, note()).await, in_use);
    (member.version, member.group) = (1, None);
    control.put_room(member, note()).await.unwrap();
    assert_eq!(control.delete_group(&all.id, note()).await, Ok(()));
}
