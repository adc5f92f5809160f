namespace Millrace.Quic.Recovery;

/// <summary>The ECN field of an IP header, its two lowest bits of the traffic class (RFC 3168, section 5).</summary>
internal enum EcnMark : byte
{
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

/// <summary>The counts of an ACK frame of type 0x03 (RFC 9000, section 19.3.2): packets received with each mark, in all.</summary>
internal readonly record struct EcnCounts(long Ect0, long Ect1, long Ce)
{
    public bool IsZero => (Ect0 | Ect1 | Ce) == 0;

    public EcnCounts Add(EcnMark mark) => mark switch
    {
        EcnMark.Ect0 => this with { Ect0 = Ect0 + 1 },
        EcnMark.Ect1 => this with { Ect1 = Ect1 + 1 },
        EcnMark.Ce => this with { Ce = Ce + 1 },
        _ => this,
    };
}
