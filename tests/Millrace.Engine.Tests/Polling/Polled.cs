using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Polling;

[Trait("Backend", "io_uring")]
public class PolledEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}

[Trait("Backend", "io_uring")]
public class PolledConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Polled();
}
