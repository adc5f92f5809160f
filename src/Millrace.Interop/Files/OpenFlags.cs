using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary>The <c>O_*</c> flags of <c>openat2(2)</c>. Not an enum: arm64 numbers two of them differently.</summary>
internal static class OpenFlags
{
    public const ulong ReadOnly = 0;
    public const ulong WriteOnly = 0x1;
    public const ulong Create = 0x40;

    /// <summary><c>O_EXCL</c>: creates a file, and fails if the name exists, even as a dangling symlink.</summary>
    public const ulong Exclusive = 0x80;

    public const ulong NoControllingTerminal = 0x100;

    /// <summary><c>O_APPEND</c>: each write goes to the present end of the file.</summary>
    public const ulong Append = 0x400;

    public const ulong NonBlock = 0x800;
    public const ulong CloseOnExec = 0x80000;

    /// <summary>
    /// <c>O_PATH</c>: refers to a file without opening it, so that no device driver runs and no permission on it is needed.
    /// </summary>
    public const ulong Path = 0x200000;

    public static readonly ulong Directory = DirectoryOn(RuntimeInformation.ProcessArchitecture);
    public static readonly ulong NoFollow = NoFollowOn(RuntimeInformation.ProcessArchitecture);

    internal static ulong DirectoryOn(Architecture architecture) => architecture switch
    {
        Architecture.X64 => 0x10000,
        Architecture.Arm64 => 0x4000,
        _ => throw new PlatformNotSupportedException($"Millrace knows the system calls of x64 and arm64, not of {architecture}."),
    };

    internal static ulong NoFollowOn(Architecture architecture) => architecture switch
    {
        Architecture.X64 => 0x20000,
        Architecture.Arm64 => 0x8000,
        _ => throw new PlatformNotSupportedException($"Millrace knows the system calls of x64 and arm64, not of {architecture}."),
    };
}
