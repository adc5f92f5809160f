using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>What the server writes of its connections with <c>--qlog</c>.</summary>
internal static class QlogFiles
{
    /// <summary>Waits until some connection has had this event.</summary>
    public static Task AwaitEventAsync(TempFolder folder, string name) =>
        AwaitAsync(folder, text => text.Contains($"\"name\":\"{name}\"", StringComparison.Ordinal), name);

    /// <summary>
    /// Waits for a connection that resumed a session: what the server has sent of the handshake has no certificate, which is larger than
    /// all else.
    /// </summary>
    public static Task AwaitResumedAsync(TempFolder folder) =>
        AwaitAsync(folder, static text => HandshakeBytesOf(text) is > 0 and < 300, "a resumed session");

    private static async Task AwaitAsync(TempFolder folder, Func<string, bool> isThere, string what)
    {
        using var deadline = new CancellationTokenSource(Http3Site.Patience);
        while (!Directory.GetFiles(folder.Root, "*.sqlog").Any(file => isThere(Read(file))))
        {
            Assert.False(deadline.IsCancellationRequested, $"No connection has {what}.");

            // Sleeps: the files are another process's.
            await Task.Delay(50);
        }
    }

    private static string Read(string file)
    {
        using var reader = new StreamReader(new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite));
        return reader.ReadToEnd();
    }

    private static long HandshakeBytesOf(string text)
    {
        long most = 0;
        foreach (string record in text.Split('\u001e').Where(static record =>
            record.EndsWith('\n') && record.Contains("packet_sent", StringComparison.Ordinal)
            && record.Contains("\"handshake\"", StringComparison.Ordinal)))
        {
            using JsonDocument parsed = JsonDocument.Parse(record);
            foreach (JsonElement frame in parsed.RootElement.GetProperty("data").GetProperty("frames").EnumerateArray())
            {
                if (frame.GetProperty("frame_type").GetString() == "crypto")
                {
                    most = Math.Max(most, frame.GetProperty("offset").GetInt64() + frame.GetProperty("length").GetInt64());
                }
            }
        }

        return most;
    }
}
