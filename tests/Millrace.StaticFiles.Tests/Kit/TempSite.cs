using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>A directory of its own for one test, removed at the end with all in it.</summary>
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

    /// <summary>With files of 100 KB left where they are.</summary>
    public SiteOptions Options => new() { Root = Root, CacheFileBytesMax = 64 * 1024 };

    public string PathOf(string path) => Path.Combine(Root, path);

    public string File(string path, string content) => File(path, Encoding.UTF8.GetBytes(content));

    public string File(string path, byte[] content)
    {
        string full = PathOf(path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        System.IO.File.WriteAllBytes(full, content);
        return full;
    }

    public void Move(string from, string to) => Assert.Equal(0, TestCalls.Rename(PathOf(from), PathOf(to)));

    /// <summary>Waits until what was written so far is old enough for its times to show any later change.</summary>
    public static async Task SettleAsync()
    {
        long writtenNs = WallClock.NowNs;
        while (WallClock.NowNs - writtenNs < 60_000_000)
        {
            await Task.Delay(10);
        }
    }

    /// <summary>Waits for what the thread pool does in its own time, and reports by no event.</summary>
    public static async Task UntilAsync(Func<bool> holds)
    {
        long beganNs = WallClock.NowNs;
        while (!holds())
        {
            Assert.True(WallClock.NowNs - beganNs < 30_000_000_000, "It did not come to be in 30 s.");
            await Task.Delay(5);
        }
    }

    /// <summary>What was queued to the thread pool before has run: each of its threads takes what was there first.</summary>
    public static async Task QueueHasRunAsync()
    {
        for (int i = 0; i < 100; i++)
        {
            await Task.Yield();
        }

        await Task.Delay(50);
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

    /// <summary>Opens the site when all that was written so far has settled.</summary>
    public async Task<AssetCatalog> OpenSettledAsync()
    {
        await SettleAsync();
        return Open();
    }

    /// <summary>Opens the site and proves the coded files beside others.</summary>
    public AssetCatalog Open() => Open(Options);

    public static AssetCatalog Open(SiteOptions options)
    {
        AssetCatalog catalog = AssetCatalog.Open(options);
        catalog.ProveSiblings();
        return catalog;
    }

    /// <summary>A site that reads its files again only when its catalog is asked to.</summary>
    public Site OpenUnwatched() => Site.Open(Options with { Watch = WatchMode.Off }, NullLoggerFactory.Instance);

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
