using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Polling;

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PolledConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}
