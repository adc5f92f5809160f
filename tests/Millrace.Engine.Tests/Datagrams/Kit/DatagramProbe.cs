using System.Collections.Concurrent;
using Millrace.Engine.Datagrams;

namespace Millrace.Engine.Tests.Datagrams.Kit;

/// <summary>What one call of a handler got.</summary>
internal sealed record Arrival(byte[] Bytes, int SegmentBytes, DatagramAddress From, DatagramAddress To, DatagramEcn Ecn)
{
    public IEnumerable<byte[]> Datagrams => Bytes.Chunk(SegmentBytes);
}

/// <summary>A handler that notes what it is called with, and does what the test says. All on the reactor's thread.</summary>
internal sealed class DatagramProbe : IDatagramHandler
{
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public ConcurrentQueue<Arrival> Arrivals { get; } = new();

    /// <summary>Every call, by its name, in order.</summary>
    public ConcurrentQueue<string> Calls { get; } = new();

    public Action<DatagramSocket, Arrival>? Received { get; set; }

    public Action<DatagramSocket>? ReceivedAll { get; set; }

    public Action<DatagramSocket>? Room { get; set; }

    public Task Closed => _closed.Task;

    /// <summary>False for a flood: what arrives is only counted.</summary>
    public bool Keeps { get; set; } = true;

    public int Datagrams => Arrivals.Sum(static arrival => arrival.Datagrams.Count());

    public void OnReceived(
        DatagramSocket socket, Span<byte> bytes, int segmentBytes, in DatagramAddress from, in DatagramAddress to, DatagramEcn ecn)
    {
        NotClosed();
        Assert.True(bytes.Length > 0 && segmentBytes > 0 && segmentBytes <= bytes.Length);
        var arrival = new Arrival(bytes.ToArray(), segmentBytes, from, to, ecn);
        if (Keeps)
        {
            Calls.Enqueue("received");
            Arrivals.Enqueue(arrival);
        }

        Received?.Invoke(socket, arrival);
        bytes.Fill(0xDB);
    }

    public void OnReceivedAll(DatagramSocket socket)
    {
        NotClosed();
        Note("all");
        ReceivedAll?.Invoke(socket);
    }

    public void OnRoom(DatagramSocket socket)
    {
        NotClosed();
        Note("room");
        Room?.Invoke(socket);
    }

    public void OnClosed(DatagramSocket socket)
    {
        NotClosed();
        Note("closed");
        _closed.SetResult();
    }

    private void Note(string call)
    {
        if (Keeps)
        {
            Calls.Enqueue(call);
        }
    }

    private void NotClosed() => Assert.False(_closed.Task.IsCompleted, "A closed socket calls its handler.");
}
