namespace Millrace.Http;

/// <summary>A range of bytes of a representation, both ends included as in Content-Range (RFC 9110 section 14.4).</summary>
internal readonly record struct ByteRange(long First, long Last)
{
    public long Length => Last - First + 1;
}
