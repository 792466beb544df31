#!/bin/sh
# Extends the last partition of an EBS volume and the one file system on it to the volume's size.
#
# sh extend_file_system.sh VOLUME_ID SIZE_GIB
#
# Takes ext4 and xfs, on a partition, on the whole disk, or on the one LVM volume above it. Never
# shrinks, formats, mounts or unmounts; whatever it does not recognise it refuses. Run again, it does
# what is still missing. The last line says what became of it:
# A line before it, "headroom-lacks: ...", says what it would take if the volume were larger.
#   headroom: extended|already <type> <device> <mount point> <bytes before> <bytes after>
#   headroom: refused <why>      (status 3: a person must look)
#   headroom: later <why>        (status 4: try again)
set -eu
export LC_ALL=C TMPDIR=/run PATH="$PATH:/usr/sbin:/sbin" # growpart needs a folder: /tmp may be full
volume=$1 size_gib=$2

refuse() { echo "headroom: refused $*"; exit 3; }
later() { echo "headroom: later $*"; exit 4; }
need() { command -v "$1" >/dev/null 2>&1 || refuse "$1 is not installed"; }
type_of() { blkid -p -o value -s TYPE "$1" 2>/dev/null || [ $? -eq 2 ] || echo ambiguous; }
bytes_of() { df -B1 --output=size "$1" | tail -n 1 | tr -d ' '; }
mounted_at() { findmnt -nlo TARGET --first-only -S "$1" || true; }

for tool in lsblk blkid blockdev findmnt df awk; do need "$tool"; done
[ "$(id -u)" = 0 ] || refuse "it takes root"
if command -v flock >/dev/null 2>&1; then
    exec 9>"/run/headroom-extend-$volume.lock" # not in /tmp, where anybody may put a link
    flock -n 9 || later "another run is at work"
fi

# The disk of the volume: NVMe disks have the volume's id as their serial number.
serial=$(echo "$volume" | tr -d -)
disk=$(lsblk -dnpo NAME,SERIAL | awk -v serial="$serial" '$2 == serial { print $1 }')
[ -n "$disk" ] || refuse "no disk has the serial number of $volume: only Nitro instances name them"
[ "$(echo "$disk" | wc -l)" = 1 ] || refuse "several disks have the serial number of $volume"
disk_bytes=$(blockdev --getsize64 "$disk")
[ "$disk_bytes" -ge "$((size_gib * 1024 * 1024 * 1024))" ] ||
    later "$disk has $disk_bytes bytes, less than $size_gib GiB"

# Everything above the disk must be a partition or an LVM volume.
kinds=$(lsblk -nro TYPE "$disk" | sed 1d | sort -u)
for kind in $kinds; do
    case $kind in
    part | lvm) ;;
    crypt) refuse "$disk is encrypted on the instance (LUKS)" ;;
    *) refuse "$disk is part of a $kind device" ;;
    esac
done

# The last partition by its start is the only one that can grow; any other must be for booting or swap.
target=$disk number=
partitions=$(lsblk -nrpo NAME,TYPE "$disk" | awk '$2 == "part" { print $1 }' | sort -u)
if [ -n "$partitions" ]; then
    last=-1
    for partition in $partitions; do
        start=$(cat "/sys/class/block/${partition##*/}/start")
        if [ "$start" -gt "$last" ]; then last=$start target=$partition; fi
    done
    number=$(cat "/sys/class/block/${target##*/}/partition")
    for partition in $partitions; do
        [ "$partition" != "$target" ] || continue
        case $(type_of "$partition"):$(mounted_at "$partition") in
        :* | vfat:* | swap:* | *:/boot | *:/boot/*) ;;
        *) refuse "$disk has several file systems: $partition is in use beside $target" ;;
        esac
    done
fi

# What is on it is checked before anything is changed.
kind=$(type_of "$target") device=$target group=
case $kind in
ext4 | xfs) ;;
LVM2_member)
    for tool in pvs vgs lvs pvresize lvextend; do need "$tool"; done
    group=$(pvs --noheadings -o vg_name "$target" | tr -d ' ')
    [ -n "$group" ] || refuse "$target is in no volume group"
    [ "$(vgs --noheadings -o pv_count "$group" | tr -d ' ')" = 1 ] ||
        refuse "volume group $group has several physical volumes"
    device=
    for logical in $(lvs --noheadings -o lv_path "$group"); do
        [ "$(type_of "$logical")" != swap ] || continue
        [ -z "$device" ] || refuse "volume group $group has several logical volumes"
        device=$logical
    done
    [ -n "$device" ] || refuse "volume group $group has no logical volume"
    [ "$(lvs --noheadings -o segtype "$device" | tr -d ' ')" = linear ] ||
        refuse "$device is not linear"
    kind=$(type_of "$device")
    ;;
crypto_LUKS) refuse "$target is encrypted on the instance (LUKS)" ;;
linux_raid_member) refuse "$target is part of a RAID set" ;;
'') refuse "$target has no file system" ;;
*) refuse "$target is $kind, not ext4, xfs or LVM" ;;
esac
case $kind in
ext4) need resize2fs ;;
xfs) need xfs_growfs ;;
*) refuse "$device is ${kind:-without a file system}, not ext4 or xfs" ;;
esac
place=$(mounted_at "$device")
[ -n "$place" ] || refuse "$device is not mounted"
case ,$(findmnt -nro OPTIONS --first-only -S "$device"), in
*,ro,*) refuse "$place is mounted read-only" ;;
esac
before=$(bytes_of "$place")
if [ -n "$number" ] && ! command -v growpart >/dev/null 2>&1; then
    echo "headroom-lacks: growpart, which is not installed" # not needed now, but once the volume is larger
fi

# Partition, physical and logical volume, file system: each grows only if there is room above it.
if [ -n "$number" ]; then
    end=$((512 * ($(cat "/sys/class/block/${target##*/}/start") + $(cat "/sys/class/block/${target##*/}/size"))))
    if [ "$((disk_bytes - end))" -gt "$((2 * 1024 * 1024))" ]; then
        need growpart # of cloud-utils-growpart or cloud-guest-utils
        growpart "$disk" "$number" || [ $? -eq 1 ] || refuse "growpart could not extend $target"
    fi
fi
if [ -n "$group" ]; then
    pvresize "$target" || refuse "pvresize could not extend $target"
    free=$(vgs --noheadings -o vg_free_count "$group" | tr -d ' ')
    [ "$free" = 0 ] || lvextend -l +100%FREE "$device" || refuse "lvextend could not extend $device"
fi
case $kind in
ext4) resize2fs "$device" || refuse "resize2fs could not extend $device" ;;
xfs) xfs_growfs "$place" || refuse "xfs_growfs could not extend $device at $place" ;;
esac

after=$(bytes_of "$place")
word=extended
[ "$after" -gt "$before" ] || word=already
echo "headroom: $word $kind $device $place $before $after"
