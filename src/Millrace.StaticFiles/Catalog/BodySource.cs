using Millrace.Interop;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>Whether the body of an asset can be had.</summary>
internal enum BodyOpening
{
    Opened,

    /// <summary>The file is no more, or may not be read any more.</summary>
    Gone,

    /// <summary>There is no descriptor or memory to open it with, for now.</summary>
    Exhausted,
}

/// <summary>
/// The body of one answer: its asset, the descriptor to read it from if it is not in memory, and its size by that descriptor.
/// <see cref="Close"/> is owed exactly once. Opened on an adoption, it keeps the asset's snapshot alive until then and belongs to the
/// adopter's thread; opened on a snapshot, that is the lease of whoever opened it.
/// </summary>
internal readonly struct BodySource
{
    private readonly Adoption? _adoption;
    private readonly bool _ownsDescriptor;

    private readonly long _modifiedAtNs;

    private BodySource(Adoption? adoption, Asset asset, long size, long modifiedAtNs, int descriptor, bool ownsDescriptor)
    {
        _modifiedAtNs = modifiedAtNs;
        _adoption = adoption;
        Asset = asset;
        Size = size;
        Descriptor = descriptor;
        _ownsDescriptor = ownsDescriptor;
    }

    public Asset Asset { get; }

    /// <summary>Of an asset that is opened on demand or large, the file's size when it was opened.</summary>
    public long Size { get; }

    public int Descriptor { get; }

    private AssetFiles Files => FilesOf(_adoption);

    /// <summary>
    /// Whether the file is still the one the asset was made of. Where not, the asset's validators are those of another body: of an asset
    /// that is opened on demand, by its state when it was opened.
    /// </summary>
    public bool IsAsCatalogued { get; private init; }

    /// <summary>Begins a request on the asset and opens its file where the snapshot holds none.</summary>
    public static BodyOpening TryOpen(Adoption adoption, Asset asset, out BodySource source)
    {
        BodyOpening opening = TryOpen(adoption.Snapshot, asset, adoption, out source);
        if (opening == BodyOpening.Opened)
        {
            adoption.BeginRequest();
        }

        return opening;
    }

    /// <summary>The same for whoever holds a lease of their own until the source is closed.</summary>
    public static BodyOpening TryOpen(CatalogSnapshot leased, Asset asset, out BodySource source) =>
        TryOpen(leased, asset, adoption: null, out source);

    /// <summary>
    /// What became of the file's content since this source was opened, or its asset was catalogued. Asked after the last read, it tells
    /// whether the bytes read in between are of one version. By size and time of modification: what changes the inode only (a rename
    /// over it takes a link away) changes no content.
    /// </summary>
    public BodyChange Change() => ChangeTo(Files.Look(Descriptor, out FileState now), now);

    /// <summary>
    /// As <see cref="Change()"/>, for bytes of a read that the adopter's reactor has been told of in this turn, or in one before: a look
    /// that another answer has had done in this turn will do.
    /// </summary>
    public BodyChange Change(long turn) => _adoption is null || _ownsDescriptor
        ? Change()
        : ChangeTo(_adoption.Looks.Look(Descriptor, turn, out FileState now), now);

    /// <summary>Whether nobody has written to the file for so long before it was opened, by its time of modification.</summary>
    public bool HasBeenQuietFor(TimeSpan time) => WallClock.NowNs - _modifiedAtNs >= time.Ticks * 100;

    /// <summary>The same source with the file's state as it is now. It stands in for this one: they are closed once.</summary>
    public BodySource Renewed() => Files.Look(Descriptor, out FileState now) < 0
        ? this
        : new BodySource(_adoption, Asset, now.Size, now.ModifiedAtNs, Descriptor, _ownsDescriptor) { IsAsCatalogued = false };

    public void Close()
    {
        if (_ownsDescriptor)
        {
            Files.Close(Descriptor);
        }

        _adoption?.EndRequest();
    }

    private BodyChange ChangeTo(int looked, in FileState now) =>
        looked < 0 ? BodyChange.Rewritten
        : now.Size == Size && now.ModifiedAtNs == _modifiedAtNs ? BodyChange.None
        : now.Size > Size ? BodyChange.Grown
        : BodyChange.Rewritten;

    private static AssetFiles FilesOf(Adoption? adoption) => adoption?.Files ?? AssetFiles.System;

    private static BodyOpening TryOpen(CatalogSnapshot snapshot, Asset asset, Adoption? adoption, out BodySource source)
    {
        if (asset.Strategy is BodyStrategy.Stream or BodyStrategy.SendFile && asset.Descriptor != Asset.NoDescriptor)
        {
            return TryOpenHeld(adoption, asset, out source);
        }

        if (asset.Strategy == BodyStrategy.Baked || asset.Descriptor != Asset.NoDescriptor)
        {
            source = new BodySource(adoption, asset, asset.Size, asset.ModifiedAtNs, asset.Descriptor, ownsDescriptor: false)
            {
                IsAsCatalogued = true,
            };
            return BodyOpening.Opened;
        }

        int descriptor = snapshot.OpenOnDemand(asset, out FileState state, FilesOf(adoption));
        if (descriptor < 0)
        {
            source = default;
            return -descriptor is Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM ? BodyOpening.Exhausted : BodyOpening.Gone;
        }

        source = new BodySource(adoption, asset, state.Size, state.ModifiedAtNs, descriptor, ownsDescriptor: true)
        {
            IsAsCatalogued = state == asset.State,
        };
        return BodyOpening.Opened;
    }

    /// <summary>
    /// A large file is looked at once more before its head is sent: what was written to it in place since it was catalogued is told
    /// from what is written while it is sent. (A small one is looked at behind its only read.)
    /// </summary>
    private static BodyOpening TryOpenHeld(Adoption? adoption, Asset asset, out BodySource source)
    {
        source = default;
        if (FilesOf(adoption).Look(asset.Descriptor, out FileState now) < 0)
        {
            return BodyOpening.Gone;
        }

        source = new BodySource(adoption, asset, now.Size, now.ModifiedAtNs, asset.Descriptor, ownsDescriptor: false)
        {
            IsAsCatalogued = now.Size == asset.Size && now.ModifiedAtNs == asset.ModifiedAtNs,
        };
        return BodyOpening.Opened;
    }
}
