using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Entries of a folder that are no files, and names longer than names can be: missing, at once.</summary>
public class OddEntryTests
{
    private const int NameBytesMax = 255;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Nothing opens the other end of the FIFOs: waiting for it would never end.</summary>
    [Theory]
    [InlineData("fifo")]
    [InlineData("socket")]
    [InlineData("null")]
    [InlineData("zero")]
    public async Task What_is_no_file_is_missing_and_nothing_waits_for_it(string kind)
    {
        using var folder = new TempFolder();
        string[] names = ["page.html", "sub/index.html", "app.js.gz", "404.html"];
        Directory.CreateDirectory(folder.PathOf("sub"));
        File.WriteAllText(folder.PathOf("app.js"), "let a = 1;");
        using var sockets = new SocketFiles();
        foreach (string name in names)
        {
            await MakeAsync(kind, folder.PathOf(name), sockets);
        }

        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        await AssertNoneIsServedAsync(server.Url, names);

        // And those that appear while it serves.
        Directory.CreateDirectory(folder.PathOf("later"));
        await MakeAsync(kind, folder.PathOf("later/page.html"), sockets);
        File.WriteAllText(folder.PathOf("later/file.txt"), "seen");
        await Wire.AwaitAsync(server.Url, "/later/file.txt", static response => response.Status == 200);
        Assert.Equal(404, Wire.Get(server.Url, "/later/page.html").Status);
    }

    [Theory]
    [InlineData("fifo")]
    [InlineData("socket")]
    [InlineData("zero")]
    public async Task Rules_of_a_site_that_are_no_file_hold_nothing_up(string kind)
    {
        using var folder = new TempFolder();
        using var sockets = new SocketFiles();
        await MakeAsync(kind, folder.PathOf("_headers"), sockets);
        await MakeAsync(kind, folder.PathOf("_redirects"), sockets);

        // The address is refused after the site was read, and before that if the site is.
        ToolResult result = await Tool.RunAsync(Deadline, Publication.Program, folder.Root, "--listen", "192.0.2.1:0");

        Assert.NotEqual(0, result.ExitCode);
        Assert.Matches("192[.]0[.]2[.]1|_headers", result.Error);
    }

    [Fact]
    public async Task Names_and_paths_longer_than_there_can_be_are_missing()
    {
        using var folder = new TempFolder();
        string longest = new('n', NameBytesMax);
        string foreign = string.Concat(Enumerable.Repeat("水", NameBytesMax / 3));
        File.WriteAllText(folder.PathOf(longest), "long");
        File.WriteAllText(folder.PathOf(foreign), "water");
        string deep = string.Join('/', Enumerable.Repeat(new string('d', 200), 15));
        Directory.CreateDirectory(folder.PathOf(deep));
        File.WriteAllText(folder.PathOf($"{deep}/end.txt"), "deep");
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");

        Assert.Equal("long", Text(Wire.Get(server.Url, "/" + longest)));
        Assert.Equal("water", Text(Wire.Get(server.Url, "/" + Uri.EscapeDataString(foreign))));
        Assert.Equal("deep", Text(Wire.Get(server.Url, $"/{deep}/end.txt")));
        foreach (string target in (string[])
        [
            $"/{longest}n", $"/{longest}/", $"/{longest}n/x", "/" + Uri.EscapeDataString(foreign + "水"), $"/{deep}/{longest}n",
            $"/{deep}/{deep}/end.txt", "/" + new string('n', 4096), "/" + string.Concat(Enumerable.Repeat("d/", 3000)),
        ])
        {
            WireResponse response = Wire.Get(server.Url, target);
            Assert.True(response.Status == 404, $"{target.Length} bytes: {response.Head}");
        }

        Assert.Equal(414, Wire.Get(server.Url, "/" + new string('n', 40_000)).Status);
    }

    private static async Task AssertNoneIsServedAsync(Uri server, string[] names)
    {
        foreach (string target in names.Select(static name => "/" + name).Append("/sub/").Append("/missing"))
        {
            WireResponse response = await Task.Run(() => Wire.Get(server, target)).WaitAsync(Deadline);
            Assert.True(response.Status == 404, $"{target}: {response.Head}");
        }

        WireResponse script = Wire.Get(server, "/app.js", "Accept-Encoding: gzip;q=1, identity;q=0.5");
        Assert.Equal("let a = 1;", Text(script));
    }

    private static async Task MakeAsync(string kind, string path, SocketFiles sockets)
    {
        switch (kind)
        {
            case "fifo":
                await Tool.RunToSuccessAsync(Deadline, "mkfifo", path);
                break;
            case "socket":
                sockets.Add(path);
                break;
            default:
                // Major 1 is the kernel's memory devices: 3 is null, 5 is zero, which never ends.
                ToolResult made = await Tool.RunAsync("mknod", path, "c", "1", kind == "null" ? "3" : "5");
                Assert.SkipUnless(made.ExitCode == 0, $"Only root makes devices: {made.Error}");
                break;
        }
    }

    private static string Text(WireResponse response) => Encoding.UTF8.GetString(response.Body);

    /// <summary>Sockets that have a name as long as they live. A name is at most 107 bytes: they are bound elsewhere and moved.</summary>
    private sealed class SocketFiles : IDisposable
    {
        private readonly List<Socket> _sockets = [];

        public void Add(string path)
        {
            string bound = Path.Combine(Path.GetTempPath(), $"millrace-{Guid.NewGuid():N}");
            var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            _sockets.Add(socket);
            socket.Bind(new UnixDomainSocketEndPoint(bound));
            socket.Listen();
            File.Move(bound, path);
        }

        public void Dispose() => _sockets.ForEach(static socket => socket.Dispose());
    }
}
