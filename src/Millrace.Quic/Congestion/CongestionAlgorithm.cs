namespace Millrace.Quic.Congestion;

/// <summary>How the congestion window grows and shrinks.</summary>
internal enum CongestionAlgorithm : byte
{
    /// <summary>RFC 9438.</summary>
    Cubic,

    /// <summary>RFC 9002, section 7 and appendix B.</summary>
    NewReno,
}
