using Millrace.Quic.Protection;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic.Kit;

/// <summary>One end of a handshake in memory: collects what it reports, and checks the order of it.</summary>
internal sealed class HandshakeEnd(OpenSslQuicHandshake handshake, byte[] parameters) : IHandshakeSink, IDisposable
{
    private readonly Queue<(EncryptionLevel Level, byte[] Bytes)> _sent = new();
    private readonly Dictionary<(EncryptionLevel Level, bool IsForSending), PacketProtector> _keys = [];

    public OpenSslQuicHandshake Handshake => handshake;

    public byte[]? PeerParameters { get; private set; }

    public bool IsComplete { get; private set; }

    public int? Alert { get; private set; }

    public string Reason { get; private set; } = "";

    public bool HasToSend => _sent.Count > 0;

    /// <summary>All that it has sent, in order.</summary>
    public List<(EncryptionLevel Level, byte[] Bytes)> Sent { get; } = [];

    public List<string> Log { get; } = [];

    /// <summary>Called within the report of the peer's parameters.</summary>
    public Action<HandshakeEnd>? OnParameters { get; set; }

    /// <summary>Called for each report.</summary>
    public Action<HandshakeEnd>? OnReport { get; set; }

    public IReadOnlyCollection<(EncryptionLevel Level, bool IsForSending)> Levels => _keys.Keys;

    public void Start() => handshake.Start(parameters, this);

    public void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes) => handshake.Receive(level, bytes, this);

    public EncryptionLevel PeekLevel => _sent.Peek().Level;

    public (EncryptionLevel Level, byte[] Bytes) Next() => _sent.Dequeue();

    public PacketProtector Keys(EncryptionLevel level, bool isForSending) => _keys[(level, isForSending)];

    public void SendHandshake(EncryptionLevel level, ReadOnlySpan<byte> bytes)
    {
        Assert.False(bytes.IsEmpty);
        Assert.True(level == EncryptionLevel.Initial || _keys.ContainsKey((level, true)), "A message comes with the keys for it.");
        _sent.Enqueue((level, bytes.ToArray()));
        Sent.Add((level, bytes.ToArray()));
        Note($"send {level} {bytes[0]}");
    }

    public void InstallKeys(EncryptionLevel level, bool isForSending, PacketProtector protector)
    {
        _keys.Add((level, isForSending), protector);
        Assert.True(level == EncryptionLevel.Handshake || PeerParameters is not null, "The parameters come before the keys of data.");
        Note($"keys {level} {(isForSending ? "send" : "receive")}");
    }

    public void ReceiveTransportParameters(ReadOnlySpan<byte> encoded)
    {
        Assert.Null(PeerParameters);
        PeerParameters = encoded.ToArray();
        Note("parameters");
        OnParameters?.Invoke(this);
    }

    public void CompleteHandshake()
    {
        Assert.False(IsComplete);
        Assert.True(handshake.IsComplete);
        Assert.Null(Alert);
        IsComplete = true;
        Note("complete");
    }

    public void FailHandshake(byte alert, string reason)
    {
        Assert.Null(Alert);
        (Alert, Reason) = (alert, reason);
        Note($"alert {alert}");
    }

    public void Dispose()
    {
        handshake.Dispose();
        foreach (PacketProtector protector in _keys.Values)
        {
            protector.Dispose();
        }
    }

    private void Note(string what)
    {
        Log.Add(what);
        OnReport?.Invoke(this);
    }
}
