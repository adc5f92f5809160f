using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// A whole file that is read before anything of its answer goes out. So one that has changed in place since it was catalogued is noticed (a
/// statx behind the read), read again until no write came in between, and sent as it is then, without the validators of the version before.
/// </summary>
internal static class WholeFileBody
{
    /// <summary>Beyond, memory for the whole of it costs more than an answer that may have to be cut.</summary>
    private const int BytesMax = 256 * 1024;

    /// <summary>A file that is saved is quiet by the second look; one that is written without end never is.</summary>
    private const int AttemptsMax = 5;

    public static bool CanSend(in BodySource source) => source.Asset.Strategy == BodyStrategy.Ring && source.Size <= BytesMax;

    public static async Task SendAsync(HttpContext context, BodySource source)
    {
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            if (!CanSend(source))
            {
                // It has grown beyond what is read at once, and may go on: its end says how long it is.
                context.Response.ContentLength = null;
                await FileBody.SendAsync(context, source, new ByteRange(0, source.Size - 1));
                return;
            }

            if (await TrySendAsync(context, source))
            {
                return;
            }

            source = source.Renewed();
            AnswerFields.Unvalidate(context.Response.Headers);
            context.Response.ContentLength = source.Size;
        }

        context.Abort();
    }

    /// <summary>False, and nothing is sent, where the file is not what its source says.</summary>
    private static async ValueTask<bool> TrySendAsync(HttpContext context, BodySource source)
    {
        // One byte more than there should be: it tells that the file has grown.
        int wanted = (int)source.Size + 1;
        byte[] memory = ArrayPool<byte>.Shared.Rent(wanted);
        try
        {
            int read = await FileBlock.FillAsync(source.Descriptor, memory.AsMemory(0, wanted), 0);
            if (read < 0)
            {
                await PlainAnswer.WriteAsync(context, StatusCodes.Status500InternalServerError);
                return true;
            }

            if (read != source.Size || source.Change() != BodyChange.None)
            {
                return false;
            }

            await WriteAsync(context, memory.AsMemory(0, read));
            return true;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(memory);
        }
    }

    private static async ValueTask WriteAsync(HttpContext context, ReadOnlyMemory<byte> body)
    {
        await context.Response.StartAsync(context.RequestAborted);
        PipeWriter writer = context.Response.BodyWriter;
        for (int at = 0; at < body.Length; at += BodySend.BlockBytes)
        {
            writer.Write(body.Span.Slice(at, Math.Min(BodySend.BlockBytes, body.Length - at)));
            if ((await writer.FlushAsync(context.RequestAborted)).IsCompleted)
            {
                return;
            }
        }
    }
}
