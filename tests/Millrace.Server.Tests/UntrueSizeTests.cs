using System.Text;
using Microsoft.Win32.SafeHandles;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Files that the kernel makes when they are read say a size that is not theirs: a page, or nothing.</summary>
public sealed class UntrueSizeTests
{
    [Theory]
    [InlineData("/sys/kernel/mm/transparent_hugepage", "enabled", "auto")]
    [InlineData("/sys/kernel/mm/transparent_hugepage", "enabled", "off")]
    [InlineData("/proc/sys/kernel", "ostype", "auto")]
    [InlineData("/proc/sys/kernel", "ostype", "off")]
    public async Task A_file_that_says_an_untrue_size_is_answered_by_what_is_read_of_it(string root, string name, string watch)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(root, "--listen", "127.0.0.1:0", "--watch", watch);
        byte[] content = Read($"{root}/{name}");
        Assert.NotEqual(content.Length, new FileInfo($"{root}/{name}").Length);
        using Wire wire = Wire.Open(server.Url);

        for (int i = 0; i < 3; i++)
        {
            WireResponse response = wire.Ask($"/{name}");
            Assert.Equal((200, $"{content.Length}"), (response.Status, response.Field("Content-Length")));
            Assert.Equal(content, response.Body);
            Assert.Null(response.Field("Last-Modified"));
        }

        WireResponse part = wire.Ask($"/{name}", "Range: bytes=1-2");
        Assert.Equal((206, $"bytes 1-2/{content.Length}"), (part.Status, part.Field("Content-Range")));
        Assert.Equal(content[1..3], part.Body);
        using Wire head = Wire.Open(server.Url);
        Assert.Contains(
            $"Content-Length: {content.Length}\r\n",
            head.HeadOf($"/{name}"),
            StringComparison.OrdinalIgnoreCase);
    }

    [Theory]
    [InlineData("/proc/kallsyms", "auto")]
    [InlineData("/proc/kallsyms", "off")]
    [InlineData("/proc/self/mem", "auto")]
    public async Task One_that_is_too_large_or_fails_to_be_read_is_a_500_and_not_a_404(string source, string watch)
    {
        using var folder = new TempFolder();
        folder.Add("page.html", 10);
        // Some megabytes, and one whose first byte is EIO. By a mount: a link from a site would leave its root.
        folder.Add("symbols", 0);
        string file = folder.PathOf("symbols");
        await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(10), "mount", "--bind", source.Replace("self", $"{Environment.ProcessId}", StringComparison.Ordinal), file);
        try
        {
            await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--watch", watch);
            using Wire wire = Wire.Open(server.Url);

            for (int i = 0; i < 3; i++)
            {
                Assert.Equal(500, wire.Ask("/symbols").Status);
                Assert.Equal(500, wire.Ask("/symbols", "Range: bytes=0-9").Status);
                Assert.Equal(200, wire.Ask("/page.html").Status);
            }

            await server.AwaitErrorAsync("/symbols");
        }
        finally
        {
            await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(10), "umount", file);
        }
    }

    [Fact]
    public async Task What_is_another_text_at_each_look_is_read_for_each_request()
    {
        await using ServerProcess server = await ServerProcess.StartAsync("/proc/sys/kernel/random", "--listen", "127.0.0.1:0");
        using Wire wire = Wire.Open(server.Url);

        string[] texts = [.. Enumerable.Range(0, 5).Select(_ => Encoding.ASCII.GetString(wire.Ask("/uuid").Body))];

        Assert.All(texts, static text => Assert.True(Guid.TryParse(text, out _), text));
        Assert.Equal(5, texts.Distinct().Count());
    }

    /// <summary>Reads to the end: a reader that relies on the size, as File.ReadAllBytes does, fails here.</summary>
    private static byte[] Read(string path)
    {
        using SafeFileHandle file = File.OpenHandle(path);
        byte[] room = new byte[64 * 1024];
        int count = 0;
        while (RandomAccess.Read(file, room.AsSpan(count), count) is > 0 and int more)
        {
            count += more;
        }

        return room[..count];
    }
}
