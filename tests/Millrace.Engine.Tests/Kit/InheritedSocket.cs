using Millrace.Engine.Listening;

namespace Millrace.Engine.Tests.Kit;

internal static class InheritedSocket
{
    /// <summary>Listens on a socket that the test has bound, as a service manager does, and still owns.</summary>
    public static async Task<Listener> ListenOnAsync(this ReactorGroup group, int descriptor, ConnectionHandler handler)
    {
        using var bound = BoundAddress.Acquire(descriptor, group.ListenDefaults);
        return await group.ListenAsync(bound, handler, filters: null, refusal: null);
    }
}
