namespace Millrace.Simulation.Tests.Quic;

/// <summary>What both applications of one connection mean to do, and have done: what an observer of both may expect.</summary>
internal sealed class QuicTruth(int number, ulong key)
{
    public const long DoneCode = 0x77;
    public const long EarlyCode = 0x78;
    public const long AbortCode = 0x1001;
    public const long StopCode = 0x1002;

    public int Number { get; } = number;

    /// <summary>From it follow the bytes of all streams.</summary>
    public ulong Key { get; } = key;

    /// <summary>Streams that the server opens, and their length.</summary>
    public int Pushes => (int)(Key % 3);

    public int PushBytes => (int)((Key >> 8) % 5_000);

    public HashSet<(long Stream, bool ByClient)> Aborted { get; } = [];

    public HashSet<(long Stream, bool ByClient)> Stopped { get; } = [];

    public bool IsClosedByClient { get; set; }

    public bool IsClosedByServer { get; set; }

    /// <summary>A closing side says with which code.</summary>
    public long ClosedCode { get; set; }

    /// <summary>The client is gone without a word, or the server's state is.</summary>
    public bool IsVanished { get; set; }

    /// <summary>The server has ended without a word, for a reason that it may have.</summary>
    public bool IsServerGone { get; set; }

    /// <summary>The client has.</summary>
    public bool IsClientGone { get; set; }

    /// <summary>The handshake is to fail.</summary>
    public bool FailsHandshake { get; set; }

    public bool IsClientDone { get; set; }

    public byte ByteAt(long stream, bool byClient, long offset)
    {
        ulong mixed = Key ^ ((ulong)stream << 17) ^ (byClient ? 0xA5A5_A5A5UL : 0x5A5A_1234UL);
        return (byte)((mixed >> (int)(offset & 31)) + ((ulong)offset * 31) + ((ulong)offset >> 9));
    }
}
