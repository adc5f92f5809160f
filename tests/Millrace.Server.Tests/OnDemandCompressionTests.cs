using System.Diagnostics;
using System.IO.Compression;
using System.Runtime.Versioning;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A text that is asked for is compressed long before background compression reaches it.</summary>
[SupportedOSPlatform("linux")]
public sealed class OnDemandCompressionTests
{
    private const int FileCount = 300;
    private const string Gzip = "Accept-Encoding: gzip";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task The_last_text_of_a_large_site_is_soon_sent_with_gzip_also_after_a_change()
    {
        using TempFolder folder = MakeSite();
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        string last = NameOf(FileCount - 1);
        Assert.Null(Wire.Get(server.Url, last, Gzip).Field("Content-Encoding"));

        Assert.Equal(TextOf(FileCount - 1), Decode(await WhenCodedAsync(server, last, static _ => true)));

        // Some 25 s of work at best: it has not come to the last but one, which nobody has asked for.
        Assert.Null(Wire.Get(server.Url, NameOf(FileCount - 2), Gzip).Field("Content-Encoding"));

        string text = "Changed. " + TextOf(FileCount - 1);
        File.WriteAllText(folder.PathOf(last[1..]), text);
        Assert.Equal(text, Decode(await WhenCodedAsync(server, last, response => Decode(response).Length == text.Length)));
        await ServedFolder.AssertEndsWellAsync(server);
    }

    /// <summary>Texts of which each is larger than the one before, so that background compression comes to them in this order.</summary>
    private static TempFolder MakeSite()
    {
        var folder = new TempFolder();
        for (int i = 0; i < FileCount; i++)
        {
            string path = folder.PathOf(NameOf(i)[1..]);
            File.WriteAllText(path, TextOf(i));
            File.SetLastWriteTimeUtc(path, DateTime.UtcNow.AddDays(-1));
        }

        return folder;
    }

    private static string NameOf(int index) => $"/{index}.txt";

    private static string TextOf(int index)
    {
#pragma warning disable CA5394 // Not for secrets: the text has to be the same in every run.
        var random = new Random(index);
        var text = new StringBuilder();
        while (text.Length < 60_000 + (100 * index))
        {
            text.Append("wheel water stone grain sluice race mill flour".Split(' ')[random.Next(8)]).Append(random.Next(100)).Append(' ');
        }
#pragma warning restore CA5394

        return text.ToString(0, 60_000 + (100 * index));
    }

    private static async Task<WireResponse> WhenCodedAsync(ServerProcess server, string target, Func<WireResponse, bool> isExpected)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (true)
        {
            WireResponse response = Wire.Get(server.Url, target, Gzip);
            Assert.Equal(200, response.Status);
            if (response.Field("Content-Encoding") == "gzip" && isExpected(response))
            {
                return response;
            }

            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, $"{target} is still answered with\n{response.Head}");
            await Task.Delay(10);
        }
    }

    private static string Decode(WireResponse response)
    {
        using var reader = new StreamReader(new GZipStream(new MemoryStream(response.Body), CompressionMode.Decompress));
        return reader.ReadToEnd();
    }
}
