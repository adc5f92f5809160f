using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// What answers ask of the file system besides bytes: to open the file of an asset that holds no descriptor, and what a descriptor is open
/// on now. The seam between them and the kernel; simulations put a failing file system there. Adopter's thread.
/// </summary>
internal class AssetFiles
{
    /// <summary>The kernel's.</summary>
    public static AssetFiles System { get; } = new();

    /// <summary>A descriptor that goes back with <see cref="Close"/>, or -errno.</summary>
    public virtual int Open(RootDirectory root, ReadOnlySpan<byte> relativePathZ) => root.OpenFile(relativePathZ);

    /// <summary>The state of what a descriptor is open on. 0 or -errno.</summary>
    public virtual int Look(int descriptor, out FileState state) => FileState.Read(descriptor, out state);

    public virtual void Close(int descriptor) => _ = FileCalls.Close(descriptor);
}
