using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

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
