namespace Millrace.Http;

/// <summary>
/// Discards the fields of blocks that are not needed: those of a refused or reset stream still change the table (RFC 9113 section 4.3).
/// </summary>
internal readonly struct DroppedFields : IHpackSink
{
    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
    }
}
