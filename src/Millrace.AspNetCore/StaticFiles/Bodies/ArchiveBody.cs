using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.StaticFiles.Archives;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Sends an archive as it is made, as fast as the client reads. If a file cannot be archived whole, the connection ends (over HTTP/2 the
/// stream), never with an end that looks complete.
/// </summary>
internal static class ArchiveBody
{
    /// <summary>The caller disposes of the producer.</summary>
    public static async Task SendAsync(HttpContext context, ArchiveProducer producer)
    {
        PipeWriter writer = context.Response.BodyWriter;
        ArchiveStep step;
        do
        {
            step = await producer.Archives.RunAsync(producer);
            writer.Write(producer.Output.Span);
            producer.ClearOutput();
            if ((await writer.FlushAsync(context.RequestAborted)).IsCompleted)
            {
                return;
            }
        }
        while (await TryContinueAsync(producer, step));

        if (step != ArchiveStep.Finished)
        {
            context.Abort();
        }
    }

    /// <summary>Does what the producer needs. False if there is nothing to do, or the archive must end.</summary>
    private static async ValueTask<bool> TryContinueAsync(ArchiveProducer producer, ArchiveStep step) => step switch
    {
        ArchiveStep.TakeOutput => true,
        ArchiveStep.OpenFile => producer.TryOpenFile(),
        ArchiveStep.ReadFile =>
            producer.TryTakePiece(await FileBlockReader.ReadAsync(producer.Descriptor, producer.Input, producer.Offset)),
        _ => false,
    };
}
