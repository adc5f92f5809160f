using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// A client that asks for one small file at a time, over a new connection and over one that was idle, and notes how long each answer took:
/// by the clock, and in processor time of the server's busiest reactor meanwhile, which others that keep the machine busy do not change.
/// </summary>
internal sealed class OneRequestClient : IDisposable
{
    private const int Kept = 8;

    private readonly Uri _url;
    private readonly byte[] _request;
    private readonly int _responseBytes;
    private readonly string[] _reactors;
    private readonly List<Socket> _kept = [];

    public OneRequestClient(ServerProcess server, string path, int bodyBytes)
    {
        _url = server.Url;
        _request = Encoding.ASCII.GetBytes($"GET {path} HTTP/1.1\r\nHost: one\r\n\r\n");
        _responseBytes = bodyBytes;
        _reactors = [.. Directory.GetDirectories($"/proc/{server.Id}/task")
            .Where(static task => IsReactor(File.ReadAllText(Path.Combine(task, "comm")).TrimEnd()))
            .Select(static task => Path.Combine(task, "schedstat"))];
        Assert.NotEmpty(_reactors);
        for (int i = 0; i < Kept; i++)
        {
            Socket socket = Connect();
            Ask(socket);
            _kept.Add(socket);
        }
    }

    public List<Wait> OverNew { get; } = [];

    public List<Wait> OverKept { get; } = [];

    /// <summary>Asks by turns over a new connection and over one that has been idle meanwhile, until the time is over.</summary>
    public void AskFor(TimeSpan time)
    {
        OverNew.Clear();
        OverKept.Clear();
        long began = Stopwatch.GetTimestamp();
        for (int i = 0; Stopwatch.GetElapsedTime(began) < time || i < 2 * Kept; i++)
        {
            OverNew.Add(Measure(() =>
            {
                using Socket socket = Connect();
                Ask(socket);
            }));
            OverKept.Add(Measure(() => Ask(_kept[i % Kept])));
        }
    }

    public void Dispose() => _kept.ForEach(static socket => socket.Dispose());

    private Wait Measure(Action ask)
    {
        double[] before = [.. _reactors.Select(ProcessorMs)];
        long askedAt = Stopwatch.GetTimestamp();
        ask();
        double ms = Stopwatch.GetElapsedTime(askedAt).TotalMilliseconds;
        return new Wait(ms, _reactors.Select((reactor, i) => ProcessorMs(reactor) - before[i]).Max());
    }

    private static bool IsReactor(string thread) =>
        thread.StartsWith("millrace-", StringComparison.Ordinal) && char.IsAsciiDigit(thread[^1]);

    private static double ProcessorMs(string schedstat) =>
        long.Parse(File.ReadAllText(schedstat).Split(' ')[0], CultureInfo.InvariantCulture) / 1e6;

    private Socket Connect()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        (socket.NoDelay, socket.ReceiveTimeout) = (true, 60_000);
        socket.Connect(IPAddress.Loopback, _url.Port);
        return socket;
    }

    private void Ask(Socket socket)
    {
        socket.Send(_request);
        byte[] response = new byte[64 * 1024];
        int count = 0;
        int bodyAt = -1;
        while (bodyAt < 0 || count < bodyAt + _responseBytes)
        {
            int received = socket.Receive(response, count, response.Length - count, SocketFlags.None);
            Assert.NotEqual(0, received);
            count += received;
            int end = response.AsSpan(0, count).IndexOf("\r\n\r\n"u8);
            bodyAt = end < 0 ? -1 : end + 4;
        }

        Assert.StartsWith("HTTP/1.1 200 ", Encoding.ASCII.GetString(response, 0, 13), StringComparison.Ordinal);
    }

    /// <param name="Ms">By the clock.</param>
    /// <param name="ReactorMs">Of a reactor's processor time.</param>
    internal readonly record struct Wait(double Ms, double ReactorMs);
}
