# Extends the last partition of an EBS volume and the NTFS file system on it to the volume's size.
# Never shrinks, formats or deletes; whatever it does not recognise it refuses. Its last line says what
# became of it, as that of extend_file_system.sh does.
$ErrorActionPreference = 'Stop'

function Stop-With([string] $Word, [string] $Why, [int] $Status) {
    Write-Output "headroom: $Word $Why"
    exit $Status
}
function Deny([string] $Why) { Stop-With 'refused' $Why 3 }

try {
    Update-HostStorageCache
    $serial = $VolumeId.Replace('-', '')
    $disks = @(Get-Disk | Where-Object {
        $_.SerialNumber -and $_.SerialNumber.Trim().Split('_')[0] -eq $serial
    })
    if ($disks.Count -ne 1) { Deny "$($disks.Count) disks have the serial number of $VolumeId" }
    $disk = $disks[0]
    if ($disk.Size -lt $SizeGib * 1GB) {
        Stop-With 'later' "the disk has $($disk.Size) bytes, less than $SizeGib GiB" 4
    }
    if ($disk.IsOffline -or $disk.IsReadOnly) { Deny "disk $($disk.Number) is offline or read-only" }
    $partitions = @(Get-Partition -DiskNumber $disk.Number | Sort-Object Offset)
    if ($partitions.Count -eq 0) { Deny "disk $($disk.Number) has no partition" }
    $lettered = @($partitions | Where-Object { $_.DriveLetter -match '[A-Z]' })
    if ($lettered.Count -ne 1) { Deny "disk $($disk.Number) has $($lettered.Count) drive letters" }
    $partition = $lettered[0]
    $letter = $partition.DriveLetter
    if ($partition.Offset -ne $partitions[-1].Offset) { Deny "a partition follows ${letter}:" }
    if ($partition.Type -notin @('Basic', 'IFS')) { Deny "${letter}: is $($partition.Type), not a basic partition" }
    $volume = Get-Volume -DriveLetter $letter
    if ($volume.FileSystem -ne 'NTFS') { Deny "${letter}: is $($volume.FileSystem), not NTFS" }
    if (Get-Command Get-BitLockerVolume -ErrorAction SilentlyContinue) {
        $locked = Get-BitLockerVolume -MountPoint "${letter}:" -ErrorAction SilentlyContinue
        if ($locked -and $locked.VolumeStatus -ne 'FullyDecrypted') { Deny "${letter}: is encrypted (BitLocker)" }
    }
    $before = $volume.Size
    $most = (Get-PartitionSupportedSize -DriveLetter $letter).SizeMax
    if ($most -gt $partition.Size + 2MB) { Resize-Partition -DriveLetter $letter -Size $most }
    $after = (Get-Volume -DriveLetter $letter).Size
    $word = if ($after -gt $before) { 'extended' } else { 'already' }
    Write-Output "headroom: $word NTFS disk $($disk.Number) ${letter}: $before $after"
}
catch {
    Stop-With 'later' "$($_.Exception.Message -replace '\s+', ' ')" 4
}
