using System.Buffers.Binary;

namespace Millrace.Interop.Files;

/// <summary>
/// Enumerates the records of one <c>getdents64(2)</c> call (<c>struct linux_dirent64</c>), skipping "." and "..". Names refer to the
/// buffer.
/// </summary>
internal ref struct DirectoryEntries(ReadOnlySpan<byte> records)
{
    /// <summary>d_ino (8), d_off (8), d_reclen (2), d_type (1); the name follows, ended by a zero.</summary>
    private const int RecordLengthOffset = 16;
    private const int NameOffset = 19;

    private ReadOnlySpan<byte> _remaining = records;

    /// <summary>The name of the entry, without its terminating zero. Any bytes but zero and '/'.</summary>
    public readonly ReadOnlySpan<byte> Name => NameZ[..^1];

    /// <summary>The name with its terminating zero, as calls take it.</summary>
    public ReadOnlySpan<byte> NameZ { get; private set; }

    public bool MoveNext()
    {
        while (!_remaining.IsEmpty)
        {
            // In native byte order; x64 and arm64 Linux are little-endian.
            int recordBytes = BinaryPrimitives.ReadUInt16LittleEndian(_remaining[RecordLengthOffset..]);
            ReadOnlySpan<byte> name = _remaining[NameOffset..recordBytes];
            NameZ = name[..(name.IndexOf((byte)0) + 1)];
            _remaining = _remaining[recordBytes..];
            if (!Name.SequenceEqual("."u8) && !Name.SequenceEqual(".."u8))
            {
                return true;
            }
        }

        return false;
    }
}
