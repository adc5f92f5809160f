namespace Millrace.Http;

/// <summary>The status that answers a refused head.</summary>
internal static class HeadRefusals
{
    public static int StatusOf(HeadRefusal refusal) => refusal switch
    {
        HeadRefusal.None => throw new ArgumentOutOfRangeException(nameof(refusal), "A head that was not refused has no such status."),
        HeadRefusal.RequestLineTooLong => 414,
        HeadRefusal.HeadTooLarge or HeadRefusal.TooManyFields => 431,
        HeadRefusal.UnknownTransferCoding => 501,
        HeadRefusal.VersionNotSupported => 505,
        _ => 400,
    };
}
