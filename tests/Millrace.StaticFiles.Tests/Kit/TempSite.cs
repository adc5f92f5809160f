using System.Net.Sockets;
using System.Text;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>A directory of its own for one test. Removed at the end, whatever lies in it.</summary>
internal sealed class TempSite : IDisposable
{
    private readonly DirectoryInfo _parent;

    public TempSite()
        : this(Directory.CreateTempSubdirectory("millrace-site-"))
    {
    }

    private TempSite(DirectoryInfo parent)
    {
        _parent = parent;
        Root = Path.Combine(_parent.FullName, "root");
        Directory.CreateDirectory(Root);
    }

    /// <summary>In tmpfs where there is one: a journal makes fifty thousand files a matter of a minute.</summary>
    public static TempSite InMemory() => Directory.Exists("/dev/shm")
        ? new TempSite(Directory.CreateDirectory($"/dev/shm/millrace-site-{Guid.NewGuid():N}"))
        : new TempSite();

    /// <summary>Beside the root: what an escape would reach.</summary>
    public string Outside => _parent.FullName;

    public string Root { get; }

    public SiteOptions Options => new() { Root = Root };

    public string PathOf(string path) => Path.Combine(Root, path);

    public string File(string path, string content) => File(path, Encoding.UTF8.GetBytes(content));

    public string File(string path, byte[] content)
    {
        string full = PathOf(path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        System.IO.File.WriteAllBytes(full, content);
        return full;
    }

    public void EmptyDirectory(string path) => Directory.CreateDirectory(PathOf(path));

    public void Symlink(string path, string target)
    {
        string full = PathOf(path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        System.IO.File.CreateSymbolicLink(full, target);
    }

    public void Fifo(string path) => Assert.Equal(0, TestCalls.MakeFifo(PathOf(path), 0x1b6));

    /// <summary>Takes all rights from everybody, as far as they can be taken from an owner.</summary>
    public void Close(string path) => Assert.Equal(0, TestCalls.ChangeMode(PathOf(path), 0));

    /// <summary>Gives the rights a directory usually has: rwxr-xr-x.</summary>
    public static void Unlock(string directory) => Assert.Equal(0, TestCalls.ChangeMode(directory, 0x1ed));

    public Socket Listener(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(PathOf(path)));
        return socket;
    }

    public AssetCatalog Open() => AssetCatalog.Open(Options);

    /// <summary>How many descriptors of this process point into the root: other tests that run meanwhile do not count.</summary>
    public int OpenDescriptorCount()
    {
        int count = 0;
        foreach (string link in Directory.GetFileSystemEntries("/proc/self/fd"))
        {
            // The descriptor of the listing itself, and those of other tests, may be gone by now.
            string? target = TestCalls.TryReadLink(link);
            count += target is not null && target.StartsWith(Root, StringComparison.Ordinal) ? 1 : 0;
        }

        return count;
    }

    public void Dispose() => _parent.Delete(recursive: true);
}
