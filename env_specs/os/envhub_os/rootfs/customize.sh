# What is done to the packages once they are installed: customize.sh ROOT OFFLINE
# ROOT is the new root file system, OFFLINE a folder with the archives of the repository inside.
set -eu
root=$1 offline=$2 inside=/var/local/packages

mkdir -p "$root$inside"
cp "$offline"/* "$root$inside/"
chmod -R a+rX "$root$inside"
rm -rf "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/apt.conf.d/99mmdebstrap "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap
echo "deb [trusted=yes] file:$inside ./" > "$root/etc/apt/sources.list"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb "$root"/var/cache/apt/*.bin
chroot "$root" apt-get update --quiet=2

rm -f "$root/etc/resolv.conf"
: > "$root/etc/resolv.conf"
echo envhub > "$root/etc/hostname"
printf '127.0.0.1 localhost envhub\n::1 localhost\n' > "$root/etc/hosts"
: > "$root/etc/machine-id"

find "$root/usr/share/doc" ! -type d ! -name copyright -delete
find "$root/usr/share/doc" -type d -empty -delete
rm -rf "$root"/usr/share/man/* "$root"/tmp/* "$root"/debootstrap
rm -rf "$root"/var/log/*.log "$root"/var/log/apt "$root"/var/cache/ldconfig/aux-cache
