using System.Diagnostics;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Idle;

/// <summary>A client as most are: asks, reads, asks again. Its waits for answers are what others' slowness must not change.</summary>
internal static class NormalClient
{
    private const int BodyBytes = 10_240;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(1);

    /// <summary>The 99th percentile of its waits, in milliseconds.</summary>
    public static double MeasureP99(int port, double seconds)
    {
        var waits = new List<double>();
        using Socket socket = Loopback.Connect(port);
        byte[] room = new byte[64 * 1024];
        long startedAt = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(startedAt).TotalSeconds < seconds)
        {
            long askedAt = Stopwatch.GetTimestamp();
            Ask(socket, room);
            waits.Add(Stopwatch.GetElapsedTime(askedAt).TotalMilliseconds);
            Thread.Sleep(Pause);
        }

        waits.Sort();
        return waits[(int)(0.99 * (waits.Count - 1))];
    }

    /// <summary>Asks for the file and reads all of the answer; throws where it is not whole or not a 200.</summary>
    public static void Ask(Socket socket, Span<byte> room)
    {
        socket.Send("GET /normal.bin HTTP/1.1\r\nHost: idle\r\n\r\n"u8);
        int received = 0;
        int wanted = int.MaxValue;
        while (received < wanted)
        {
            int read = socket.Receive(room[received..]);
            received += read > 0 ? read : throw new EndOfStreamException($"An answer ended after {received} bytes.");
            int head = room[..received].IndexOf("\r\n\r\n"u8);
            wanted = head < 0 ? wanted : head + 4 + BodyBytes;
        }

        if (!room.StartsWith("HTTP/1.1 200 "u8))
        {
            throw new InvalidDataException(Encoding.ASCII.GetString(room[..64]));
        }
    }
}
