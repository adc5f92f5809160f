using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// A body that one read brings: it lands straight behind the head, and only then does anything go out, so a file that has shrunk
/// since the catalogue was made is still answered whole: its length is taken from the read.
/// </summary>
internal static class RingBody
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, nint headLines, int headBytes)
    {
        try
        {
            int size = (int)source.Size;
            int read = 0;
            while (read < size)
            {
                int count = await connection.ReadFileAsync(source.Descriptor, read, size - read);
                if (count == 0)
                {
                    PatchLength(headLines, headBytes, read);
                    break;
                }

                read += count;
            }
        }
        finally
        {
            source.Close();
        }

        return true;
    }

    private static unsafe void PatchLength(nint lines, int bytes, int length) =>
        AssetHead.PatchLength(new Span<byte>((void*)lines, bytes), length);
}
