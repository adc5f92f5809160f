namespace Millrace.Http;

/// <summary>
/// Receives the fields of a block from <see cref="HpackDecoder"/>. A sink that refuses must remember that and drop the following fields:
/// the block is always decoded to its end, or the decoder's table would differ from the encoder's.
/// </summary>
internal interface IHpackSink
{
    /// <param name="name">The name as sent. Name and value are valid only during the call.</param>
    /// <param name="value">The value.</param>
    /// <param name="sensitivity">Whether the field must not be indexed when it is sent on.</param>
    /// <param name="staticIndex">The first entry of the static table with this name, if the encoder used one; otherwise 0.</param>
    void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex);
}
