using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Registered;

[Trait("Backend", "io_uring")]
public class RegisteredPolledEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered().Polled();
}

[Trait("Backend", "io_uring")]
public class RegisteredPolledEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered().Polled();
}

[Trait("Backend", "io_uring")]
public class RegisteredPolledChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered().Polled();
}

[Trait("Backend", "io_uring")]
public class RegisteredPolledStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered().Polled();
}
