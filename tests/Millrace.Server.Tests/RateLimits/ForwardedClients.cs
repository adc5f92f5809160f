using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.RateLimits;

/// <summary>A connection of a proxy that sends requests of many clients, pipelined.</summary>
internal sealed class ForwardedClients(Uri url)
{
    private readonly NetworkStream _stream = new TcpClient(url.Host, url.Port).GetStream();

    /// <summary>One HEAD request for each client, all at once; their statuses.</summary>
    public int[] Ask(int[] clients)
    {
        var statuses = new List<int>();
        foreach (int[] some in clients.Chunk(250))
        {
            _stream.Write(Encoding.ASCII.GetBytes(string.Concat(some.Select(static client =>
                $"HEAD / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.{client >> 16}.{(client >> 8) & 255}.{client & 255}\r\n\r\n"))));
            byte[] buffer = new byte[512 * 1024];
            string text = "";
            for (int heads = 0; heads < some.Length; heads = text.Split("\r\n\r\n").Length - 1)
            {
                int count = _stream.Read(buffer);
                Assert.True(count > 0, "The connection ended.");
                text += Encoding.ASCII.GetString(buffer, 0, count);
            }

            statuses.AddRange(text.Split("\r\n\r\n", StringSplitOptions.RemoveEmptyEntries)
                .Select(static head => int.Parse(head.AsSpan(9, 3), NumberStyles.None, CultureInfo.InvariantCulture)));
        }

        return [.. statuses];
    }
}
