using Millrace.Engine.Backends;

namespace Millrace.Engine.Tests.Kit;

/// <summary>What a reactor asked of its backend: an operation with its token, or a system call on a socket (<c>close</c>).</summary>
internal sealed record Submission(string Verb, OperationToken Token, int Socket, byte[] Bytes)
{
    public Submission(string verb, int socket)
        : this(verb, default, socket, [])
    {
    }
}
