using Grpc.Core;

namespace Millrace.Arena;

/// <summary>The board's unary call.</summary>
internal sealed class SumService : BenchmarkService.BenchmarkServiceBase
{
    public override Task<SumReply> GetSum(SumRequest request, ServerCallContext context) =>
        Task.FromResult(new SumReply { Result = request.A + request.B });
}
