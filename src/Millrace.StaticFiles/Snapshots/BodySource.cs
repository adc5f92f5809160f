using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>Whether the body of an asset is available.</summary>
internal enum BodyOpening
{
    Opened,

    /// <summary>The file no longer exists or is no longer readable.</summary>
    Gone,

    /// <summary>No descriptor or memory is available to open it at present.</summary>
    Exhausted,

    /// <summary>The file of a sibling is not the one that was proven: its original is sent in its place.</summary>
    Unproven,
}

/// <summary>
/// The body of one response: its asset, the descriptor to read it from unless it is in memory, and its size by that descriptor.
/// <see cref="Close"/> must be called exactly once. Opened with a <see cref="SiteBinding"/>, it keeps the snapshot alive until then and
/// belongs to the binding's thread; opened with a snapshot, the caller keeps its own lease.
/// </summary>
internal readonly struct BodySource(
    CatalogSnapshot snapshot, SiteBinding? binding, Asset asset, long size, long modifiedAtNs, int descriptor, bool ownsDescriptor)
{
    public Asset Asset => asset;

    /// <summary>The size to send. For an asset that is opened on demand or large, the file's size when it was opened.</summary>
    public long Size => size;

    public int Descriptor => descriptor;

    private AssetFiles Files => binding?.Files ?? AssetFiles.System;

    /// <summary>
    /// Whether the file is still the one that the asset was made from. If not, the asset's validators do not apply to this body. For an
    /// asset that is opened on demand this compares the state when it was opened.
    /// </summary>
    public bool IsAsCatalogued { get; private init; }

    /// <summary>Whether its file is still to be opened with <see cref="TryOpenDeferred"/>.</summary>
    public bool IsDeferred { get; private init; }

    /// <summary>Whether its descriptor was opened for this response alone.</summary>
    public bool OwnsDescriptor => ownsDescriptor;

    /// <summary>Opens the body of an asset of the binding's current snapshot.</summary>
    public static BodyOpening TryOpen(SiteBinding binding, Asset asset, out BodySource source)
    {
        BodyOpening opening = TryOpen(binding.Current, binding, asset, out source);
        if (opening == BodyOpening.Opened)
        {
            binding.BeginUse();
        }

        return opening;
    }

    /// <summary>As the other overload, for a caller that keeps its own lease on the snapshot until the source is closed.</summary>
    public static BodyOpening TryOpen(CatalogSnapshot leased, Asset asset, out BodySource source) =>
        TryOpen(leased, binding: null, asset, out source);

    /// <summary>Whether the asset's file is opened for each response.</summary>
    public static bool IsOpenedOnDemand(Asset asset) => asset.Strategy != BodyStrategy.InMemory && asset.Descriptor == Asset.NoDescriptor;

    /// <summary>A body whose file is opened later (<see cref="TryOpenDeferred"/>), assuming the catalogued state.</summary>
    public static BodySource Defer(SiteBinding binding, Asset asset)
    {
        binding.BeginUse();
        return new BodySource(
            binding.Current, binding, asset, asset.Size, asset.ModifiedAtNs, Asset.NoDescriptor, ownsDescriptor: false)
        {
            IsAsCatalogued = true,
            IsDeferred = true,
        };
    }

    /// <summary>Opens the file of a deferred source. The result replaces this source: close only one of them.</summary>
    public BodyOpening TryOpenDeferred(out BodySource opened) => TryOpen(snapshot, binding, asset, out opened);

    /// <summary>Opens the original of a sibling whose deferred opening has found another file. The result replaces this source.</summary>
    public BodyOpening TryOpenOriginal(out BodySource opened) => TryOpen(snapshot, binding, asset.Original!, out opened);

    /// <summary>Closes the descriptor of a source that was opened in place of a deferred one; the deferred one stays.</summary>
    public void CloseFile() => Files.Close(Descriptor);

    /// <summary>
    /// How the file's content changed since this source was opened, or its asset was catalogued. After the last read, this says whether the
    /// bytes read in between belong to one version. Compares size and modification time: a change of the inode alone (such as a rename over
    /// it, which removes a link) changes no content.
    /// </summary>
    public BodyChange Change() => ChangeTo(Files.Stat(Descriptor, out FileState now), now);

    /// <summary>
    /// As <see cref="Change()"/>, for a read whose completion was delivered to the binding's reactor in this loop iteration or before: a
    /// stat that another response did in this iteration is reused.
    /// </summary>
    public BodyChange Change(long iteration) => binding is null || ownsDescriptor
        ? Change()
        : ChangeTo(binding.Stat(Descriptor, iteration, out FileState now), now);

    /// <summary>Whether the file's modification time, as of when it was opened, is at least this long ago.</summary>
    public bool HasBeenQuietFor(TimeSpan time) => WallClock.NowNs - modifiedAtNs >= time.Ticks * 100;

    /// <summary>The same source with the file's present state. It replaces this one: close only one of them.</summary>
    public BodySource Renewed() => Files.Stat(Descriptor, out FileState now) < 0
        ? this
        : new BodySource(snapshot, binding, asset, now.Size, now.ModifiedAtNs, descriptor, ownsDescriptor);

    public void Close()
    {
        if (ownsDescriptor)
        {
            Files.Close(Descriptor);
        }

        binding?.EndUse(snapshot);
    }

    private BodyChange ChangeTo(int statResult, in FileState now) =>
        statResult < 0 ? BodyChange.Rewritten
        : now.Size == Size && now.ModifiedAtNs == modifiedAtNs ? BodyChange.None
        : now.Size > Size && asset.Origin != AssetOrigin.Sibling ? BodyChange.Grown
        : BodyChange.Rewritten;

    private static BodyOpening TryOpen(CatalogSnapshot snapshot, SiteBinding? binding, Asset asset, out BodySource source)
    {
        AssetFiles files = binding?.Files ?? AssetFiles.System;
        int descriptor = asset.Descriptor;
        (long size, long modifiedAtNs) = (asset.Size, asset.ModifiedAtNs);
        bool isAsCatalogued = true;
        bool isOnDemand = IsOpenedOnDemand(asset);
        bool isSibling = asset.Origin == AssetOrigin.Sibling;
        if (isOnDemand)
        {
            descriptor = snapshot.OpenOnDemand(asset, out FileState state, files);
            if (descriptor < 0)
            {
                source = default;
                return isSibling && -descriptor is Errno.ENOENT ? BodyOpening.Unproven
                    : -descriptor is Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM ? BodyOpening.Exhausted : BodyOpening.Gone;
            }

            (size, modifiedAtNs) = (state.Size, state.ModifiedAtNs);
            isAsCatalogued = state == asset.State;
        }
        else if (asset.Strategy is BodyStrategy.Streamed or BodyStrategy.SendFile
            || (isSibling && asset.Strategy == BodyStrategy.SingleRead))
        {
            // A large file is checked once more before its head is sent, to tell writes in place since it was catalogued from writes during
            // the send. A small file is checked after its only read, and a sibling before it too, as nothing can replace its bytes then.
            if (files.Stat(descriptor, out FileState now) < 0)
            {
                source = default;
                return BodyOpening.Gone;
            }

            (size, modifiedAtNs) = (now.Size, now.ModifiedAtNs);
            isAsCatalogued = isSibling ? now == asset.State : now.Size == asset.Size && now.ModifiedAtNs == asset.ModifiedAtNs;
        }

        if (isSibling && !isAsCatalogued)
        {
            if (isOnDemand)
            {
                files.Close(descriptor);
            }

            source = default;
            return BodyOpening.Unproven;
        }

        source = new BodySource(snapshot, binding, asset, size, modifiedAtNs, descriptor, ownsDescriptor: isOnDemand)
        {
            IsAsCatalogued = isAsCatalogued,
        };
        return BodyOpening.Opened;
    }
}

/// <summary>How a file changed while it was read.</summary>
internal enum BodyChange
{
    None,

    /// <summary>It is longer: something was appended, as to a log, and the announced bytes are still there.</summary>
    Grown,

    /// <summary>It was overwritten or truncated: the bytes read may mix two versions.</summary>
    Rewritten,
}

/// <summary>
/// The file system operations of responses besides reads: opening an asset without a descriptor, and stat of an open descriptor. A seam:
/// simulations replace it with a failing file system. Used on the lease owner's thread.
/// </summary>
internal class AssetFiles
{
    /// <summary>The kernel's file system.</summary>
    public static AssetFiles System { get; } = new();

    /// <summary>A descriptor to be closed with <see cref="Close"/>, or -errno.</summary>
    public virtual int Open(RootDirectory root, ReadOnlySpan<byte> relativePathZ) => root.OpenFile(relativePathZ);

    /// <summary>The state of an open file. 0 or -errno.</summary>
    public virtual int Stat(int descriptor, out FileState state) => FileState.Read(descriptor, out state);

    public virtual void Close(int descriptor) => _ = FileCalls.Close(descriptor);
}
