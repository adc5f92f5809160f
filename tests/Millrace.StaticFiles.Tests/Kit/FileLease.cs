using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>
/// A write lease (fcntl(2)): as long as it is held, opening the file for reading without waiting fails by EAGAIN, and a stat of it does
/// not. The file and its directory stay as they are.
/// </summary>
internal sealed partial class FileLease : IDisposable
{
    private const int SetSignal = 10;
    private const int SetLease = 1024;
    private const int Write = 1;

    /// <summary>The signal that the holder gets when others open the file; ignored by default, where SIGIO would end the process.</summary>
    private const int SigUrg = 23;

    private readonly SafeFileHandle _file;

    public FileLease(string path)
    {
        _file = File.OpenHandle(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete);
        Assert.Equal(0, Control(_file, SetSignal, SigUrg));
        Assert.Equal(0, Control(_file, SetLease, Write));
    }

    public void Dispose() => _file.Dispose();

    [LibraryImport("libc", EntryPoint = "fcntl")]
    private static partial int Control(SafeFileHandle file, int command, int argument);
}
