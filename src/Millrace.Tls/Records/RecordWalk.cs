namespace Millrace.Tls.Records;

/// <summary>
/// Counts the records that come, by their heads alone (RFC 8446, section 5.1): OpenSSL tells only of those that bring data.
/// </summary>
internal struct RecordWalk
{
    private const int HeadBytes = 5;
    private const int LengthAt = 3;

    private int _head;
    private int _left;

    /// <summary>Whether nothing has come of a record that has not come whole.</summary>
    public readonly bool IsBetweenRecords => _head == 0;

    /// <summary>Walks on. Returns how many records have ended here.</summary>
    public int Advance(ReadOnlySpan<byte> bytes)
    {
        int ended = 0;
        while (bytes.Length > 0)
        {
            if (_head < HeadBytes)
            {
                _left = _head >= LengthAt ? (_left << 8) | bytes[0] : 0;
                _head++;
                bytes = bytes[1..];
            }
            else
            {
                int count = Math.Min(_left, bytes.Length);
                _left -= count;
                bytes = bytes[count..];
            }

            if (_head == HeadBytes && _left == 0)
            {
                _head = 0;
                ended++;
            }
        }

        return ended;
    }
}
