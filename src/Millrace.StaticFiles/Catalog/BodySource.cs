using Millrace.Interop;
using Millrace.Interop.Files;
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
/// The body of one answer: its asset, the descriptor to read it from if it is not in memory, and its size by that descriptor. Keeps
/// the asset's snapshot alive from <see cref="TryOpen"/> to <see cref="Close"/>, which is owed exactly once. Adopter's thread.
/// </summary>
internal readonly struct BodySource
{
    private readonly Adoption _adoption;
    private readonly bool _ownsDescriptor;

    private BodySource(Adoption adoption, Asset asset, long size, int descriptor, bool ownsDescriptor)
    {
        _adoption = adoption;
        Asset = asset;
        Size = size;
        Descriptor = descriptor;
        _ownsDescriptor = ownsDescriptor;
    }

    public Asset Asset { get; }

    /// <summary>Of an asset that is opened on demand, the file's size now.</summary>
    public long Size { get; }

    public int Descriptor { get; }

    /// <summary>
    /// Whether the file is still the one the asset was made of. Where not, the asset's validators are those of another body: of an asset
    /// that is opened on demand, by its state when it was opened.
    /// </summary>
    public bool IsAsCatalogued { get; private init; }

    /// <summary>Begins a request on the asset and opens its file where the snapshot holds none.</summary>
    public static BodyOpening TryOpen(Adoption adoption, Asset asset, out BodySource source)
    {
        if (asset.Strategy == BodyStrategy.Baked || asset.Descriptor != Asset.NoDescriptor)
        {
            adoption.BeginRequest();
            source = new BodySource(adoption, asset, asset.Size, asset.Descriptor, ownsDescriptor: false) { IsAsCatalogued = true };
            return BodyOpening.Opened;
        }

        int descriptor = adoption.Snapshot.OpenOnDemand(asset, out FileState state);
        if (descriptor < 0)
        {
            source = default;
            return -descriptor is Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM ? BodyOpening.Exhausted : BodyOpening.Gone;
        }

        adoption.BeginRequest();
        source = new BodySource(adoption, asset, state.Size, descriptor, ownsDescriptor: true)
        {
            IsAsCatalogued = state == asset.State,
        };
        return BodyOpening.Opened;
    }

    /// <summary>The bytes of the file behind its descriptor at this moment, or -errno.</summary>
    public long SizeNow()
    {
        int result = FileState.Read(Descriptor, out FileState state);
        return result < 0 ? result : state.Size;
    }

    public void Close()
    {
        if (_ownsDescriptor)
        {
            _ = FileCalls.Close(Descriptor);
        }

        _adoption.EndRequest();
    }
}
