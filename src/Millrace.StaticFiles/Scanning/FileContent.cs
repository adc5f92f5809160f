using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Scanning;

/// <summary>Reads files from their start, restarting after EINTR.</summary>
internal static unsafe class FileContent
{
    /// <summary>The number of bytes read, less than requested if the file ends before; or -errno.</summary>
    public static long Read(int fd, Span<byte> buffer)
    {
        fixed (byte* bufferPtr = buffer)
        {
            return Read(fd, bufferPtr, buffer.Length, 0);
        }
    }

    /// <inheritdoc cref="Read(int, Span{byte})"/>
    public static long Read(int fd, byte* buffer, long bytesWanted, long offset)
    {
        long done = 0;
        while (done < bytesWanted)
        {
            nint result = FileCalls.PositionalRead(fd, buffer + done, (nuint)(bytesWanted - done), offset + done);
            if (result == 0)
            {
                break;
            }

            if (result < 0 && result != -Errno.EINTR)
            {
                return result;
            }

            done += Math.Max(result, 0);
        }

        return done;
    }

    /// <summary>Reads a file in chunks and appends them to a digest. Returns as <see cref="Read(int, Span{byte})"/>.</summary>
    public static long ReadInto(int fd, Span<byte> buffer, long bytesWanted, ContentDigest digest)
    {
        fixed (byte* bufferPtr = buffer)
        {
            long done = 0;
            while (done < bytesWanted)
            {
                long wanted = Math.Min(buffer.Length, bytesWanted - done);
                long read = Read(fd, bufferPtr, wanted, done);
                if (read < 0)
                {
                    return read;
                }

                digest.Append(new ReadOnlySpan<byte>(bufferPtr, (int)read));
                done += read;
                if (read < wanted)
                {
                    break;
                }
            }

            return done;
        }
    }
}
