using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>The reactor, for application code.</content>
internal sealed partial class TransportConnection : IReactorFeature
{
    Reactor IReactorFeature.Reactor => _reactor;
}
