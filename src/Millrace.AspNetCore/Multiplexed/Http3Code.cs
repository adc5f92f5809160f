namespace Millrace.AspNetCore.Multiplexed;

/// <summary>
/// The codes that the transport itself uses where Kestrel has set none, as with Kestrel's own transport (RFC 9114, section 8.1).
/// </summary>
internal static class Http3Code
{
    public const long NoError = 0x100;
    public const long ExcessiveLoad = 0x107;
    public const long RequestCancelled = 0x10C;

    /// <summary>The largest that QUIC can carry.</summary>
    private const long Largest = (1L << 62) - 1;

    /// <exception cref="ArgumentOutOfRangeException">QUIC cannot carry it.</exception>
    public static void Require(long code)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(code);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(code, Largest);
    }
}
