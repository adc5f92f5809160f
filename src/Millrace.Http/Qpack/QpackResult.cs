namespace Millrace.Http;

/// <summary>
/// The result for a field section, for instructions of the peer's encoder, or for an instruction to it. All but Ok, Blocked and TooLarge
/// end the connection with the code that <see cref="QpackResults.ErrorOfSection"/> or <see cref="QpackResults.ErrorOfInstruction"/> gives.
/// </summary>
internal enum QpackResult : byte
{
    Ok,

    /// <summary>The section refers to entries that have not come yet (RFC 9204 section 2.2.1).</summary>
    Blocked,

    /// <summary>The fields of the section exceed the caller's limit; it was not decoded to its end. The table does not suffer.</summary>
    TooLarge,

    /// <summary>The section ends within a representation. Within an instruction more must come.</summary>
    Truncated,

    /// <summary>An integer of more than 62 bits (section 4.1.1).</summary>
    IntegerOverflow,

    /// <summary>A string that contains EOS, or whose padding is longer than 7 bits or not all ones (RFC 7541 section 5.2).</summary>
    BadHuffman,

    /// <summary>An index beyond the static table (section 3.1).</summary>
    BadIndex,

    /// <summary>An entry that was evicted, never inserted, or is not covered by the required insert count (section 2.2.3).</summary>
    BadReference,

    /// <summary>A required insert count that no encoder could have sent (section 4.5.1.1).</summary>
    BadInsertCount,

    /// <summary>A negative base (section 4.5.1.2).</summary>
    BadBase,

    /// <summary>More streams are blocked than the settings allow (section 2.1.2).</summary>
    TooManyBlocked,

    /// <summary>A table capacity above the limit (section 4.3.1).</summary>
    BadCapacity,

    /// <summary>An entry that is larger than the table (section 3.2.2).</summary>
    EntryTooLarge,

    /// <summary>Instructions of a few bytes each that copy large entries, without end.</summary>
    Flood,

    /// <summary>The peer gives no credit for the instructions that its own sections require.</summary>
    OutputFull,
}

/// <summary>The codes with which results end a connection.</summary>
internal static class QpackResults
{
    /// <summary>The code for the result of <see cref="QpackDecoder.Decode"/>; None if the connection continues.</summary>
    public static long ErrorOfSection(QpackResult result) => result switch
    {
        QpackResult.Ok or QpackResult.Blocked or QpackResult.TooLarge => Http3Error.None,
        QpackResult.OutputFull => Http3Error.ExcessiveLoad,
        _ => Http3Error.QpackDecompressionFailed,
    };

    /// <summary>The code for the result of <see cref="QpackDecoder.ReadInstructions"/>; None if the connection continues.</summary>
    public static long ErrorOfInstruction(QpackResult result) => result switch
    {
        QpackResult.Ok => Http3Error.None,
        QpackResult.Flood or QpackResult.OutputFull => Http3Error.ExcessiveLoad,
        _ => Http3Error.QpackEncoderStreamError,
    };
}
