using System.Buffers.Binary;

namespace Millrace.Interop.Files;

/// <summary>
/// Walks the records that one <c>getdents64(2)</c> left in a buffer (<c>struct linux_dirent64</c>), skipping "." and "..".
/// A name is valid as long as the buffer is.
/// </summary>
internal ref struct DirectoryEntries(ReadOnlySpan<byte> records)
{
    /// <summary>d_ino (8), d_off (8), d_reclen (2), d_type (1); the name follows, ended by a zero.</summary>
    private const int RecordLengthOffset = 16;
    private const int NameOffset = 19;

    private ReadOnlySpan<byte> _rest = records;

    /// <summary>The name of the entry, without its terminating zero. Any bytes but zero and '/'.</summary>
    public ReadOnlySpan<byte> Name => NameZ[..^1];

    /// <summary>The name with its zero, as a call takes it.</summary>
    public ReadOnlySpan<byte> NameZ { get; private set; }

    public bool MoveNext()
    {
        while (!_rest.IsEmpty)
        {
            // The kernel writes it in the machine's order; x64 and arm64 Linux are little-endian.
            int recordBytes = BinaryPrimitives.ReadUInt16LittleEndian(_rest[RecordLengthOffset..]);
            ReadOnlySpan<byte> name = _rest[NameOffset..recordBytes];
            NameZ = name[..(name.IndexOf((byte)0) + 1)];
            _rest = _rest[recordBytes..];
            if (!Name.SequenceEqual("."u8) && !Name.SequenceEqual(".."u8))
            {
                return true;
            }
        }

        return false;
    }
}
