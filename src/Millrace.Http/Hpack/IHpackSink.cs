namespace Millrace.Http;

/// <summary>
/// Takes the fields of a block as <see cref="HpackDecoder"/> finds them. A sink that has had enough remembers so and drops what still
/// comes: the block is decoded to its end in any case, or the decoder's table would differ from the encoder's.
/// </summary>
internal interface IHpackSink
{
    /// <param name="name">The name, as it was sent. Like the value it is valid only during the call.</param>
    /// <param name="value">The value.</param>
    /// <param name="sensitivity">Whether the field must not be indexed when it is sent on.</param>
    /// <param name="staticIndex">The first entry of the static table with this name, where the encoder made use of one; else 0.</param>
    void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex);
}
