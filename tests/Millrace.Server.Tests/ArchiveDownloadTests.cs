using System.Globalization;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Archives of directories as users get and unpack them.</summary>
public sealed class ArchiveDownloadTests : IDisposable
{
    private const string UnpackTar = "import sys, tarfile; t = tarfile.open(sys.argv[1]); print('\\n'.join(m.name for m in t)); t.extractall(sys.argv[2])";
    private const string UnpackZip = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip()); z.extractall(sys.argv[2])";
    private const string TestZip = "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).testzip())";

    private readonly TempFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("tar.gz", "--http1.1")]
    [InlineData("tar.gz", "--http2-prior-knowledge")]
    [InlineData("zip", "--http1.0")]
    [InlineData("zip", "--http2-prior-knowledge")]
    public async Task What_is_unpacked_is_what_is_there(string format, string version)
    {
        Tool.Require("curl");
        string root = MakeTree();
        await using ServerProcess server = await ServerProcess.StartAsync(root, "--listen", "127.0.0.1:0", "--listing", "--archives");
        string file = _folder.PathOf($"got.{format}");

        await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(60), "curl", "-sSf", version, "-o", file, new Uri(server.Url, $"tree/?archive={format}").ToString());

        (string Tool, string[] Arguments)[] unpackers = format == "zip"
            ? [("unzip", ["-q", file, "-d"]), ("python3", ["-c", UnpackZip, file])]
            : [("tar", ["xzf", file, "-C"]), ("python3", ["-c", UnpackTar, file])];
        foreach ((string tool, string[] arguments) in unpackers)
        {
            Tool.Require(tool);
            string unpacked = Directory.CreateDirectory(_folder.PathOf($"by {tool}")).FullName;
            await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(60), tool, [.. arguments, unpacked]);
            await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(60), "diff", "-r", Path.Combine(root, "tree"), Path.Combine(unpacked, "tree"));
        }
    }

    [Fact]
    public async Task A_slow_client_costs_no_memory_and_is_cut_when_a_file_changes()
    {
        string root = Directory.CreateDirectory(_folder.PathOf("site")).FullName;
        _folder.Add("site/a.bin", 200 * 1024 * 1024);
        await using ServerProcess server = await ServerProcess.StartAsync(root, "--listen", "127.0.0.1:0", "--listing", "--archives=zip");
        using (SlowDownload first = await SlowDownload.StartAsync(new Uri(server.Url, "?archive=zip")))
        {
            // Sleeps: what would be read ahead is there by then.
            await Task.Delay(500);
            int before = server.ResidentKib();
            using SlowDownload second = await SlowDownload.StartAsync(new Uri(server.Url, "?archive=zip"));

            // Sleeps: the same again.
            await Task.Delay(500);
            Assert.InRange(server.ResidentKib() - before, int.MinValue, 16 * 1024);
        }

        using SlowDownload cut = await SlowDownload.StartAsync(new Uri(server.Url, "?archive=zip"));

        // Part of the file is there: it is open.
        await cut.ReadAsync(100_000);
        using (FileStream file = File.OpenWrite(Path.Combine(root, "a.bin")))
        {
            file.SetLength(1000);
        }

        await Assert.ThrowsAnyAsync<IOException>(cut.ReadToEndAsync);
        await server.AwaitErrorAsync("An archive of");
    }

    /// <summary>32 bits end at four gigabytes.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public Task A_file_of_more_than_four_gigabytes_is_whole() => AssertWholeAsync("zip", 4L * 1024 * 1024 * 1024);

    /// <summary>
    /// Tar's octal digits end at eight gigabytes. That GNU tar reads the header is a test of StaticFiles, and that so many bytes are counted
    /// in 64 bits the one above.
    /// </summary>
    [Fact]
    [Trait("Duration", "Long")]
    public Task A_file_of_more_than_eight_gigabytes_is_whole() => AssertWholeAsync("tar.gz", 8L * 1024 * 1024 * 1024);

    private async Task AssertWholeAsync(string format, long size)
    {
        Array.ForEach(["curl", "unzip", "python3"], Tool.Require);
        string root = Directory.CreateDirectory(_folder.PathOf("site")).FullName;
        using (FileStream large = File.Create(Path.Combine(root, "a.txt")))
        {
            large.SetLength(size + 1);
        }

        File.WriteAllText(Path.Combine(root, "b.txt"), "behind it");
        await using ServerProcess server = await ServerProcess.StartAsync(root, "--listen", "127.0.0.1:0", "--listing", "--archives");
        string file = _folder.PathOf($"got.{format}");
        await Tool.RunToSuccessAsync(
            TimeSpan.FromMinutes(5), "curl", "-sSf", "-o", file, new Uri(server.Url, $"?archive={format}").ToString());

        string[] sizes = [(size + 1).ToString(CultureInfo.InvariantCulture), "9"];
        if (format == "zip")
        {
            string listed = await Tool.RunToSuccessAsync(TimeSpan.FromMinutes(1), "unzip", "-lv", file);
            Assert.All(sizes, each => Assert.Matches($@"(?m)^ *{each} ", listed));
            Assert.Equal("None\n", await Tool.RunToSuccessAsync(TimeSpan.FromMinutes(5), "python3", "-c", TestZip, file));
            Assert.Equal("behind it", await Tool.RunToSuccessAsync(TimeSpan.FromMinutes(1), "unzip", "-p", file, "site/b.txt"));
        }
        else
        {
            // Once through the archive, as that takes most of a minute: what is said of each file, and its last bytes.
            string[] said = (await Tool.RunToSuccessAsync(
                TimeSpan.FromMinutes(5), "tar", "xzf", file, "--to-command", "echo $TAR_FILENAME $TAR_SIZE; tail -c 9")).Split('\n');
            Assert.Equal([$"site/a.txt {sizes[0]}", $"{new string('\0', 9)}site/b.txt {sizes[1]}", "behind it"], said);
        }
    }

    private string MakeTree()
    {
        string root = Directory.CreateDirectory(_folder.PathOf("site")).FullName;
        foreach (string directory in (string[])["tree/empty", "tree/grüße/a b", $"tree/{new string('d', 120)}/{new string('e', 120)}"])
        {
            Directory.CreateDirectory(Path.Combine(root, directory));
        }

        foreach ((string name, int bytes) in ((string, int)[])[
            ("tree/0", 0), ("tree/small.txt", 10), ("tree/memory.html", 100_000), ("tree/one read.bin", 200_000), ("tree/large.bin", 5_000_000),
            ("tree/grüße/a b/ü.txt", 300), ($"tree/{new string('d', 120)}/{new string('e', 120)}/{new string('f', 200)}", 700)])
        {
            _folder.Add($"site/{name}", bytes);
        }

        return root;
    }
}
